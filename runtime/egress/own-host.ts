import type { EgressRequest } from './egress.ts';
import { judgeTarget, type Judging } from './judge-target.ts';
import { parseUrl, type ParsedUrl, type Target } from './target.ts';

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

/** Takes a request's URL apart. One to this service itself is refused where the request wants that. */
export function parseRequestUrl(
  { url, notToSelf }: Pick<EgressRequest, 'url' | 'notToSelf'>,
  { ownUrl, ...judging }: Judging & { readonly ownUrl?: string },
): ParsedUrl {
  const parsed = parseUrl(url);
  if (!notToSelf || 'refusal' in parsed) {
    return parsed;
  }

  const refusal = judgeTarget(markOwn(parsed.target, ownUrl), judging);
  return refusal === null ? parsed : { refusal };
}
