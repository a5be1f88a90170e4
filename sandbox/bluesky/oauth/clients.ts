import type { Context } from 'koa';
import type { SandboxOauthApp } from '../../oauth/code-flow.ts';
import { originOf } from '../../origin.ts';

/**
 * Finds an app by its client id, which is a URL on Bluesky.
 *
 * The client id of a loopback app has its redirect URIs. The metadata document of other apps is not fetched: the
 * sandbox sends no requests.
 *
 * Source: https://atproto.com/specs/oauth#clients
 */
export function findClient(clientId: string): SandboxOauthApp | undefined {
  const url = URL.parse(clientId);
  const known = { clientId, secret: '' };
  if (url?.origin === 'http://localhost' && url.pathname === '/') {
    const redirectUris = url.searchParams.getAll('redirect_uri');
    const isGood = redirectUris.every((one) =>
      /^http:\/\/(?:127\.0\.0\.1|\[::1\])[:\/]/v.test(one),
    );
    const scopes = (url.searchParams.get('scope') ?? 'atproto').split(' ');
    return isGood && redirectUris.length > 0
      ? { ...known, name: 'Punctual', redirectUris, scopes }
      : undefined;
  }
  return url?.protocol === 'https:' && url.pathname !== '/'
    ? { ...known, name: 'Punctual', redirectUris: null, scopes: null }
    : undefined;
}

type Fields = Readonly<Record<string, string>>;

/** The app of a request, if it is authenticated: an app with a document signs, a loopback app cannot. */
export function clientIn(ctx: Context, fields: Fields): SandboxOauthApp | undefined {
  const app = findClient(fields['client_id'] ?? '');
  const isPublic = app?.clientId.startsWith('http:') ?? false;
  return isPublic || isAssertion(fields, originOf(ctx)) ? app : undefined;
}

/** Does not verify the signature: the key is in the document. */
function isAssertion(fields: Fields, issuer: string): boolean {
  const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
  const [, claims = ''] = (fields['client_assertion'] ?? '').split('.');
  try {
    const { iss, sub, aud } = JSON.parse(Buffer.from(claims, 'base64url').toString('utf8'));
    const client = fields['client_id'];
    return (
      fields['client_assertion_type'] === type && iss === client && sub === client && aud === issuer
    );
  } catch {
    return false;
  }
}
