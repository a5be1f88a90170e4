import { parseAddress, type Address } from './address.ts';

/** Where a URL leads, as far as the text of it says. */
export type Target = {
  readonly secure: boolean;
  /** A name in lower case and punycode, or an address without brackets; no trailing dot. */
  readonly host: string;
  /** The host's address where the URL has one instead of a name. */
  readonly address: Address | null;
  readonly port: number;
  /** Its host is that of this service itself, and the caller does not want to be led there. */
  readonly isOwn?: boolean;
  /** With `isOwn`: that is the loopback, and the port is not the service's, so that something else listens there. */
  readonly isBesideUs?: boolean;
};

export type ParsedUrl =
  | { readonly target: Target; readonly origin: string; readonly path: string }
  | { readonly refusal: string };

/**
 * Takes a URL apart, or says in a sentence for its author why requests cannot go there.
 *
 * Looks at the raw text first, because `new URL()` silently drops tabs and line ends and turns `\` into `/`,
 * so that a reader and the parser would see different hosts. The fragment is dropped; `origin` is without
 * the name's trailing dot, which TLS servers do not expect.
 */
export function parseUrl(text: string): ParsedUrl {
  if (/[\p{Cc}\s\\]/v.test(text)) {
    return { refusal: 'The URL contains a space, a control character or a backslash.' };
  }

  if (!/^https?:\/\/[^\/]/iv.test(text) || !URL.canParse(text)) {
    return { refusal: 'This is not a URL of the form https://host/path.' };
  }

  const url = new URL(text);
  if (url.username !== '' || url.password !== '') {
    return { refusal: 'The URL contains a user name or a password.' };
  }

  const host = url.hostname.replace(/\.$/v, '');
  const address = parseAddress(host.replace(/^\[(.*)\]$/v, '$1'));
  if (!address && !isHostName(host)) {
    return { refusal: 'The host of the URL is not a valid name.' };
  }

  const secure = url.protocol === 'https:';
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  return {
    target: { secure, host: address?.text ?? host, address, port },
    origin: `${url.protocol}//${host}:${port}`,
    path: url.pathname + url.search,
  };
}

/** The length of a name and of a label is that of the DNS; the underscore is not in its rules but in use. */
const isHostName = (host: string): boolean =>
  host.length <= 253 && /^[a-z0-9_\-]{1,63}(?:\.[a-z0-9_\-]{1,63})*$/v.test(host);

/**
 * The one form in which a URL is kept and shown: scheme and host in lower case, the host in punycode and without a
 * dot at its end, an address in its plain spelling, no port that the scheme has anyway, no fragment. Path and query
 * stay as they were typed, to the byte: they are the receiver's, who may tell `%7E` from `~`.
 *
 * @throws TypeError with the reason, for a text that `parseUrl` refuses.
 */
export function normalUrl(text: string): string {
  const parsed = parseUrl(text);
  if ('refusal' in parsed) {
    throw new TypeError(parsed.refusal);
  }

  const { secure, host, address, port } = parsed.target;
  const scheme = secure ? 'https' : 'http';
  const place = address?.family === 6 ? `[${host}]` : host;
  const at = port === (secure ? 443 : 80) ? '' : `:${port}`;
  const [, rest = ''] = /^[^:]+:\/\/[^\/?#]*([^#]*)/v.exec(text) ?? [];
  return `${scheme}://${place}${at}${rest}`;
}

/**
 * Marks a target whose host is the one of this service itself, at whatever port: what it sends would come back to it.
 * Goes by the host's name alone, since an address may be that of a proxy with many services behind it.
 *
 * @param ownUrl Where the service is reached from outside; undefined marks nothing.
 */
export function markOwn(target: Target, ownUrl: string | undefined): Target {
  const own = parseUrl(ownUrl ?? '');
  if (!('target' in own && own.target.host === target.host)) {
    return target;
  }

  const isBesideUs = isLoopback(target.host) && own.target.port !== target.port;
  return { ...target, isOwn: true, isBesideUs };
}

const isLoopback = (host: string): boolean => /^(?:127\.[\d.]+|::1|localhost)$/v.test(host);
