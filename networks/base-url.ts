import { AppError } from '../domain/errors.ts';

/**
 * The address of a server, as people write it: `mastodon.example` and `https://mastodon.example/` are the same.
 *
 * @returns The origin and the path, without a trailing slash.
 * @throws AppError `invalid_request` when it is no address of a web server, or has a query or a password in it. Its
 *   message does not repeat the address, because of the password.
 */
export function baseUrlOf(address: string): string {
  const withScheme = /^https?:\/\//i.test(address) ? address : `https://${address}`;
  const url = URL.parse(withScheme);
  if (!url || url.search || url.hash || url.username || url.password) {
    throw new AppError(
      'invalid_request',
      'Not the address of a server, such as https://a.example.',
    );
  }

  return url.origin + url.pathname.replace(/\/+$/, '');
}
