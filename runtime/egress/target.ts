import { parseAddress, type Address } from './address.ts';

/** The target of a URL, from its text alone. */
export type RequestTarget = {
  readonly secure: boolean;
  /** A name in lower case and punycode, or an address without brackets; no trailing dot. */
  readonly host: string;
  /** The address, when the host is one instead of a name. */
  readonly address: Address | null;
  readonly port: number;
  /** The host is this service's own, which the caller wants to avoid. */
  readonly isOwn?: boolean;
  /** With `isOwn`: the host is the loopback and the port is not the service's, so something else listens there. */
  readonly isBesideUs?: boolean;
};

export type ParsedUrl =
  | { readonly target: RequestTarget; readonly origin: string; readonly path: string }
  | { readonly refusal: string };

/**
 * Parses a URL, or returns a sentence for its author that explains why requests cannot go there.
 *
 * Checks the raw text first, because `new URL()` silently drops tabs and line ends and turns `\` into `/`, so that a
 * reader and the parser would see different hosts. Drops the fragment; `origin` has no trailing dot, which TLS servers
 * do not expect.
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

/** Lengths as in DNS; underscores are not in its rules but in use. */
const isHostName = (host: string): boolean =>
  host.length <= 253 && /^[a-z0-9_\-]{1,63}(?:\.[a-z0-9_\-]{1,63})*$/v.test(host);

/**
 * The form in which a URL is stored and shown: scheme and host in lower case, the host in punycode without a trailing
 * dot, an address in its normal spelling, no default port, no fragment. Path and query keep every byte, because a
 * receiver may distinguish `%7E` from `~`.
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
 * Marks a target on this service's own host, at any port: requests to it would loop. Compares host names only, since an
 * address may be that of a proxy with many services behind it.
 *
 * @param ownUrl The public URL of the service; undefined marks nothing.
 */
export function markOwn(target: RequestTarget, ownUrl: string | undefined): RequestTarget {
  const own = parseUrl(ownUrl ?? '');
  if (!('target' in own && own.target.host === target.host)) {
    return target;
  }

  const isBesideUs = isLoopback(target.host) && own.target.port !== target.port;
  return { ...target, isOwn: true, isBesideUs };
}

const isLoopback = (host: string): boolean => /^(?:127\.[\d.]+|::1|localhost)$/v.test(host);
