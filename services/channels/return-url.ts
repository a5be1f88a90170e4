import { wrongValue } from '../../domain/errors.ts';
import { mayReturnTo } from '../../runtime/config/allowed-addresses.ts';

/**
 * Validates a `return_url`.
 *
 * Compares parsed URLs, and paths by whole segments: a string prefix would accept `https://app.example.evil.example`
 * or `/accounts-of-mallory`.
 *
 * @param allowed The operator's list. Each entry allows its origin, at and below its path.
 * @throws AppError `invalid_request`
 */
export function checkReturnUrl(given: string, allowed: readonly URL[]): string {
  const url = URL.parse(given);
  if (!url || !mayReturnTo(url)) {
    throw wrongValue(
      '/return_url',
      'must be an https address (http only of this machine), without a user or a fragment',
    );
  }

  if (/;|%3b|%25/iv.test(url.pathname) || !isDecodable(url.pathname)) {
    throw wrongValue(
      '/return_url',
      'must not have ";", "%25" or an invalid escape in its path, which servers read in two ways',
    );
  }

  if (!allowed.some((one) => one.origin === url.origin && isBelow(url.pathname, one.pathname))) {
    throw wrongValue(
      '/return_url',
      'is not among the addresses that the operator allows (PUNCTUAL_CONNECT_RETURN_URLS)',
    );
  }

  return url.href;
}

/** False for escapes that are not UTF-8: some servers read `%c0%ae` and `%u002e` as a dot. */
function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

/** Decodes `%2f`, `%5c` and `%2e` first, because a server may decode a path before it resolves `..`. */
function isBelow(path: string, root: string): boolean {
  const decoded = path.replaceAll(/%2f|%5c/giv, '/').replaceAll(/%2e/giv, '.');
  if (/(?:^|\/)\.\.(?:\/|$)/v.test(decoded)) {
    return false;
  }

  const above = root.replace(/(?<!\/)\/+$/v, '');
  return path === above || path.startsWith(`${above}/`);
}
