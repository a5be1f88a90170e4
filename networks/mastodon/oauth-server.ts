import { flag, having, listOf, text, textUpTo } from '../../domain/json-schema.ts';
import { answerReader, jsonOf } from '../answer.ts';
import { OauthError, type OauthAppCredentials, type OauthContext } from '../oauth/contract.ts';
import { refusedIn } from '../oauth/authorization-server.ts';
import { sendNetworkRequest, type NetworkRequest } from '../http.ts';
import { serverName } from './client.ts';

export type ServerMetadata = {
  readonly usesPkce: boolean;
  /** Null when its responses may not contain the issuer. */
  readonly issuer: string | null;
};

const readMetadata = answerReader(
  having(
    { issuer: textUpTo(2000) },
    {
      code_challenge_methods_supported: listOf(text, 20),
      authorization_response_iss_parameter_supported: flag,
    },
  ),
);

/**
 * Reads the metadata of RFC 8414, which Mastodon has since version 4.3. A server without them, such as GoToSocial, gets
 * the plain code flow.
 */
export async function readServerMetadata(
  context: OauthContext,
  root: string,
): Promise<ServerMetadata> {
  const path = '/.well-known/oauth-authorization-server';
  const response = await send({ context, root }, { method: 'GET', path });
  const metadata = response.status === 200 ? readMetadata(jsonOf(response)) : null;
  // Section 3.3: metadata of another issuer must not be used.
  if (!metadata || plain(metadata.issuer) !== plain(root)) {
    return { usesPkce: false, issuer: null };
  }

  return {
    usesPkce: metadata.code_challenge_methods_supported?.includes('S256') ?? false,
    issuer: metadata.authorization_response_iss_parameter_supported ? metadata.issuer : null,
  };
}

/** Mastodon's issuer ends with a slash. */
const plain = (url: string): string | undefined => URL.parse(url)?.href.replace(/\/$/v, '');

/** The scopes that the adapter needs. Narrower than `read` and `write`, so that a token permits nothing else. */
export const scopes = ['read:accounts', 'read:statuses', 'write:statuses', 'write:media'];

type Registering = {
  readonly context: OauthContext;
  /** The server's own URL, under which the registration is stored. */
  readonly baseUrl: string;
  readonly root: string;
  readonly redirectUri: string;
};

/**
 * This service's registration at a server. Registers again when the server no longer knows it: Mastodon deletes
 * registrations that are not used within a day.
 */
export async function registeredApp(registering: Registering): Promise<OauthAppCredentials> {
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

/** Sends an invalid code: a server that does not know the app refuses the app, others refuse the code. */
async function isKnown(registering: Registering, app: OauthAppCredentials): Promise<boolean> {
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    code: 'none',
    client_id: app.clientId,
    client_secret: app.clientSecret,
    redirect_uri: registering.redirectUri,
  });
  const response = await send(registering, { method: 'POST', path: '/oauth/token', form });
  return refusedIn(response, []).error !== 'invalid_client';
}

/** Visible ASCII (RFC 6749, appendix A). */
const visible = { type: 'string', pattern: '^[\\x20-\\x7e]+$', maxLength: 2000 } as const;
const readApp = answerReader(having({ client_id: visible, client_secret: visible }));

/** Source: https://docs.joinmastodon.org/methods/apps/ */
async function register(registering: Registering): Promise<OauthAppCredentials> {
  const { publicUrl } = registering.context;
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

  const { status } = response;
  const { details } = refusedIn(response, []);
  throw status === 429 || status >= 500
    ? new OauthError('unavailable', `${serverName} is not available at the moment ${details}.`)
    : new OauthError(
        'unsupported',
        `At this address is no server with Mastodon's API, or it accepts no new apps ${details}.`,
      );
}

const send = (
  { context, root }: Pick<Registering, 'context' | 'root'>,
  request: Pick<NetworkRequest, 'method' | 'path' | 'body' | 'form'>,
) => {
  const { http, signal } = context;
  const server = { http, baseUrl: root, ...(signal && { signal }) };
  const bounded = { ...request, purpose: 'prepare', maxBytes: 64 * 1024 } as const;
  return sendNetworkRequest(server, bounded, serverName);
};
