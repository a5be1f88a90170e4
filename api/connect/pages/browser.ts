import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Context } from 'koa';
import { sha256Hex } from '../../../runtime/secrets.ts';

const isSecret = /^[\w\-]{43}$/v;

/**
 * Binds a connection to the browser in which it began, so that an answer from another person's authorization connects
 * nothing. `__Host-` (RFC 6265bis), which needs the path `/`, keeps sibling subdomains from setting it.
 */
const cookieOf = (publicUrl: string) =>
  publicUrl.startsWith('https:')
    ? { name: '__Host-punctual-connect', path: '/', secure: true }
    : { name: 'punctual-connect', path: `${basePath(publicUrl)}/connect`, secure: false };

/** The public path prefix of this service, without a trailing slash. A proxy may add one. */
export const basePath = (publicUrl: string): string =>
  new URL(publicUrl).pathname.replace(/(?<!\/)\/+$/v, '');

/** @returns the secret of this browser; null without a valid cookie. */
export function browserOf(ctx: Context, publicUrl: string): string | null {
  const value = ctx.cookies.get(cookieOf(publicUrl).name);
  return value !== undefined && isSecret.test(value) ? value : null;
}

export function markBrowser(ctx: Context, publicUrl: string): string {
  const known = browserOf(ctx, publicUrl);
  if (known !== null) {
    return known;
  }

  const { name, path, secure } = cookieOf(publicUrl);
  const fresh = randomBytes(32).toString('base64url');
  // Set by hand: the library refuses a secure cookie when an untrusted proxy terminates TLS.
  ctx.append(
    'Set-Cookie',
    `${name}=${fresh}; Path=${path}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`,
  );
  return fresh;
}

/** CSRF token of a link's forms: a network that remembers the consent asks nothing when another site submits one. */
export const formKey = (browser: string, token: string): string =>
  sha256Hex(`form/${browser}/${token}`);

export function isFormKey(given: string, browser: string, token: string): boolean {
  const own = Buffer.from(formKey(browser, token));
  const other = Buffer.from(given);
  return own.length === other.length && timingSafeEqual(own, other);
}
