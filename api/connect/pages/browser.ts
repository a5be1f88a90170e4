import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Context } from 'koa';
import { sha256Hex } from '../../../runtime/secrets.ts';

const isSecret = /^[\w\-]{43}$/v;

/**
 * The cookie that ties a connection to the browser in which it was begun: an answer of a network that somebody else was
 * given, and sent on, connects nothing there.
 *
 * Under https its name keeps neighbours from setting it, who have another name below the same domain (RFC 6265bis,
 * `__Host-`); such a cookie has the path `/`.
 */
const cookieOf = (publicUrl: string) =>
  publicUrl.startsWith('https:')
    ? { name: '__Host-punctual-connect', path: '/', secure: true }
    : { name: 'punctual-connect', path: `${basePath(publicUrl)}/connect`, secure: false };

/** The path under which browsers see this service, without a slash at the end: a proxy may put one before ours. */
export const basePath = (publicUrl: string): string =>
  new URL(publicUrl).pathname.replace(/\/+$/v, '');

/** @returns the secret of this browser; null where it has none. */
export function browserOf(ctx: Context, publicUrl: string): string | null {
  const value = ctx.cookies.get(cookieOf(publicUrl).name);
  return value !== undefined && isSecret.test(value) ? value : null;
}

/** The same, with a new one for a browser that has none. */
export function markBrowser(ctx: Context, publicUrl: string): string {
  const known = browserOf(ctx, publicUrl);
  if (known !== null) {
    return known;
  }

  const { name, path, secure } = cookieOf(publicUrl);
  const fresh = randomBytes(32).toString('base64url');
  // By hand: the library refuses a secure cookie where a proxy ends TLS and is not trusted with the client's address.
  ctx.append(
    'Set-Cookie',
    `${name}=${fresh}; Path=${path}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`,
  );
  return fresh;
}

/**
 * Stands in each form of a link's page, and proves that the form was shown by us in this browser: another site could send
 * one there, and a network that knows the person asks nothing.
 */
export const formKey = (browser: string, token: string): string =>
  sha256Hex(`form/${browser}/${token}`);

export function isFormKey(given: string, browser: string, token: string): boolean {
  const own = Buffer.from(formKey(browser, token));
  const other = Buffer.from(given);
  return own.length === other.length && timingSafeEqual(own, other);
}
