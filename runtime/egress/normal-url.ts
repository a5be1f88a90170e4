import { parseUrl } from './target.ts';

/**
 * The one form in which a URL is kept and shown: scheme and host in lower case, the host in punycode and without a
 * dot at its end, an address in its plain spelling, no port that the scheme has anyway, no fragment. Path and query
 * stay as they were typed, to the byte: they are the receiver's, who may tell `%7E` from `~`.
 *
 * @throws TypeError with the reason, when it is no URL that we take.
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
