import { createServer } from 'node:http';
import type { ExecutionContext } from 'ava';
import { Provider } from 'oidc-provider';
import type { AuthorizationServer } from '../../../networks/oauth/authorization-server.ts';
import { openBrowser } from '../../support/browser.ts';
import { redirectUri } from './context.ts';
import { listening } from '../../support/listening.ts';

/** Contains all characters that form encoding changes, and some that it must not change. */
const app = { clientId: 'punctual-app', clientSecret: 'a-secret_with +/=%:signs' };

/** A certified authorization server: it requires PKCE, refresh tokens work once, and a second use ends the grant. */
export async function startOidcServer(t: ExecutionContext) {
  const server = createServer();
  const port = await listening(t, server);
  const issuer = `http://127.0.0.1:${port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: app.clientId,
        client_secret: app.clientSecret,
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ],
    scopes: ['openid', 'offline_access', 'posts.write'],
    pkce: { required: () => true },
    features: { devInteractions: { enabled: true }, revocation: { enabled: true } },
    rotateRefreshToken: true,
    cookies: { keys: ['a key'] },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id }),
    }),
    issueRefreshToken: async (_context: unknown, _client: unknown, code: { scopes: Set<string> }) =>
      code.scopes.has('offline_access'),
  });
  server.on('request', provider.callback());
  const known: AuthorizationServer = {
    name: 'The network',
    issuer,
    alwaysSaysIssuer: true,
    app,
    appAdvice: 'Whoever runs this service has to check SOME_SETTINGS.',
    authorizeUrl: `${issuer}/auth`,
    tokenUrl: `${issuer}/token`,
    secretIn: 'header',
    usesPkce: true,
    scopes: ['openid', 'offline_access', 'posts.write'],
    parameters: { prompt: 'consent' },
  };
  return { issuer, known, allow, deny };
}

/** Signs in and allows access, as a person does. @returns the parameters of the callback. */
async function allow(link: string): Promise<URLSearchParams> {
  const browser = openBrowser(redirectUri);
  const signIn = await browser.open(link);
  const asked = await browser.press(signIn, 'Sign-in', { login: 'alice', password: 'any' });
  return new URL((await browser.press(asked, 'Continue')).url).searchParams;
}

/** Cancels on the first page. */
async function deny(link: string): Promise<URLSearchParams> {
  const browser = openBrowser(redirectUri);
  const signIn = await browser.open(link);
  return new URL((await browser.open(`${signIn.url}/abort`)).url).searchParams;
}
