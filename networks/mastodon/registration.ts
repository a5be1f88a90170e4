import { answerReader, jsonOf } from '../answer.ts';
import { OauthError, type OauthApp, type OauthContext } from '../oauth.ts';
import { TokenRefusal } from '../oauth/token-refusal.ts';
import { sendRequest, type NetworkRequest } from '../send-request.ts';
import { serverName } from './client.ts';

/** What an adapter needs. Finer ones than `read` and `write`, so that a token opens nothing else. */
export const scopes = ['read:accounts', 'read:statuses', 'write:statuses', 'write:media'];

/** What a registration is for. */
export type Registering = {
  readonly context: OauthContext;
  /** The server's own address, under which registrations are kept. */
  readonly baseUrl: string;
  /** Where its API is. */
  readonly root: string;
  readonly redirectUri: string;
};

/**
 * This service as a server knows it; registers it where the server does not, which may have forgotten: Mastodon deletes
 * registrations of which nobody made use within a day.
 *
 * @throws OauthError
 * @throws NetworkError `network_unavailable` when no answer came.
 */
export async function registeredApp(registering: Registering): Promise<OauthApp> {
  const { context, baseUrl, redirectUri } = registering;
  const kept = await context.apps.find(baseUrl, redirectUri);
  if (kept && (await isKnown(registering, kept))) {
    return kept;
  }
  if (kept) {
    await context.apps.forget(baseUrl, redirectUri, kept);
  }

  return context.apps.keep(baseUrl, redirectUri, await register(registering));
}

/** Offers a code that is none: a server refuses the app before it looks at the code, or the code. */
async function isKnown(registering: Registering, app: OauthApp): Promise<boolean> {
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    code: 'none',
    client_id: app.clientId,
    client_secret: app.clientSecret,
    redirect_uri: registering.redirectUri,
  });
  const response = await send(registering, { method: 'POST', path: '/oauth/token', form });
  return new TokenRefusal(response, [], 0).refused.error !== 'invalid_client';
}

/** Visible ASCII (RFC 6749, appendix A). */
const text = { type: 'string', pattern: '^[\\x20-\\x7e]+$', maxLength: 2000 };
const readApp = answerReader<{ readonly client_id: string; readonly client_secret: string }>({
  type: 'object',
  required: ['client_id', 'client_secret'],
  properties: { client_id: text, client_secret: text },
});

/** Source: https://docs.joinmastodon.org/methods/apps/ */
async function register(registering: Registering): Promise<OauthApp> {
  const { publicUrl, now } = registering.context;
  const body = {
    client_name: 'Punctual',
    redirect_uris: registering.redirectUri,
    scopes: scopes.join(' '),
    website: publicUrl,
  };
  const response = await send(registering, { method: 'POST', path: '/api/v1/apps', body });
  const app = response.status === 200 ? readApp(jsonOf(response)) : null;
  if (app) {
    return { clientId: app.client_id, clientSecret: app.client_secret };
  }

  const { status, said } = new TokenRefusal(response, [], now().getTime());
  throw status === 429 || status >= 500
    ? new OauthError('unavailable', `${serverName} could not do it at the moment ${said}.`)
    : new OauthError(
        'unsupported',
        `This address has no server with Mastodon's API, or none that takes new apps ${said}.`,
      );
}

const send = (
  { context, root }: Registering,
  request: Pick<NetworkRequest, 'method' | 'path' | 'body' | 'form'>,
) => {
  const { http, signal } = context;
  const server = { http, baseUrl: root, ...(signal && { signal }) };
  return sendRequest(server, { ...request, purpose: 'prepare' }, serverName);
};
