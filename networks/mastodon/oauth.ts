import {
  flag,
  having,
  type Json,
  nullable,
  text,
  listOf,
  textUpTo,
} from '../../domain/json-schema.ts';
import { pasted } from '../../domain/texts.ts';
import { answerReader, jsonOf } from '../answer.ts';
import { NetworkError } from '../network.ts';
import {
  type AuthorizationServer,
  type OauthErrorBody,
  asOauthError,
  refusedIn,
} from '../oauth/authorization-server.ts';
import {
  beginCodeFlow,
  finishCodeFlow,
  withoutCredentials,
  withinSignal,
} from '../oauth/code-flow.ts';
import {
  OauthError,
  type Grant,
  type Oauth,
  type OauthAppCredentials,
  type OauthContext,
} from '../oauth/contract.ts';
import { grantOf, refreshGrant } from '../oauth/token-endpoint.ts';
import { baseUrlOf, sendNetworkRequest, type NetworkRequest } from '../http.ts';
import { serverName } from './client.ts';
import { connectMastodon } from './connect.ts';

type ServerMetadata = {
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
async function readServerMetadata(context: OauthContext, root: string): Promise<ServerMetadata> {
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
const scopes = ['read:accounts', 'read:statuses', 'write:statuses', 'write:media'];

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
async function registeredApp(registering: Registering): Promise<OauthAppCredentials> {
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
const readNewApp = answerReader(having({ client_id: visible, client_secret: visible }));

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
  const app = response.status === 200 ? readNewApp(jsonOf(response)) : null;
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

type Kept = ServerMetadata & { readonly baseUrl: string };

const readKept = answerReader(having({ baseUrl: text, usesPkce: flag, issuer: nullable(text) }));

/** Reads the data of a grant whose access expires, as on Pleroma: a refresh needs the app that it was given to. */
const readApp = answerReader(having({ clientId: text, clientSecret: text }));

/**
 * Connects accounts of servers with Mastodon's API. This service registers an app at each server on its first
 * connection. On most servers tokens do not expire.
 *
 * Source: https://docs.joinmastodon.org/spec/oauth/
 */
export const mastodonOauth: Oauth = {
  async begin({ values, state, redirectUriFor, ...context }) {
    const baseUrl = context.sandboxUrl ?? baseUrlOf(serverNameIn(values['url'] ?? ''));
    const redirectUri = redirectUriFor(baseUrl);
    const root = rootOf(context, baseUrl);
    try {
      const announced = await readServerMetadata(context, root);
      const app = await registeredApp({ context, baseUrl, root, redirectUri });
      const begun = beginCodeFlow(serverWith(root, app, announced), { state, redirectUri });
      const kept: Kept = { ...announced, baseUrl };
      return { ...begun, kept: { ...(begun.kept as object), ...kept } as Json };
    } catch (error) {
      throw asOauthError(error);
    }
  },

  async finish(request) {
    const { apps, now, redirectUri } = request;
    const kept = readKept(request.kept);
    const app = kept && (await apps.find(kept.baseUrl, redirectUri));
    if (!kept || !app) {
      throw new OauthError('expired', 'This attempt is no longer valid. Start over.');
    }

    const { baseUrl } = kept;
    const server = serverWith(rootOf(request, baseUrl), app, kept);
    const tokens = await finishCodeFlow(server, request);
    const grant = grantOf(tokens, now().getTime());
    const { accessToken, refreshToken } = grant;
    try {
      const account = await connectMastodon(withinSignal(request), { baseUrl, accessToken });
      return {
        grant: refreshToken === null ? grant : { ...grant, data: { ...app } },
        accounts: [withoutCredentials(account)],
      };
    } catch (error) {
      throw asOauthError(error);
    }
  },

  refresh: (request) =>
    refreshGrant(() => {
      const app = appOf(request.grant);
      const announced = { usesPkce: false, issuer: null };
      return serverWith(rootOf(request, request.baseUrl), app, announced);
    }, request),
};

/** Finds the server in a person's input: its name or URL, a handle, or the URL of a profile. */
export function serverNameIn(typed: string): string {
  const given = pasted(typed);
  const handle = /^@?[^@\s\/:]+@(?<server>[^@\s\/]+)$/v.exec(given);
  return (handle?.groups?.['server'] ?? given.replace(/\/@[^\/]*\/?$/v, '')).replace(/\.$/v, '');
}

/** The sandbox serves all networks, each under its own path. */
const rootOf = ({ sandboxUrl }: Pick<OauthContext, 'sandboxUrl'>, baseUrl: string): string =>
  sandboxUrl === null ? baseUrl : `${sandboxUrl}/mastodon`;

const serverWith = (
  root: string,
  app: OauthAppCredentials,
  { usesPkce, issuer }: ServerMetadata,
): AuthorizationServer => ({
  name: serverName,
  appAdvice:
    'Start over; if that does not help, its software may not support all of Mastodon’s API.',
  app,
  authorizeUrl: `${root}/oauth/authorize`,
  tokenUrl: `${root}/oauth/token`,
  ...(issuer !== null && { issuer, alwaysSaysIssuer: true }),
  secretIn: 'form',
  usesPkce,
  scopes,
  // Otherwise a server that already allowed another workspace of this person would not ask for consent.
  parameters: { force_login: 'true' },
  // The app can only be registered again when a person connects again.
  endsGrant: ({ error }: OauthErrorBody) => error === 'invalid_client',
});

function appOf({ data = null }: Grant): OauthAppCredentials {
  const app = readApp(data);
  if (!app) {
    const message = 'The access cannot be renewed: the stored grant does not name its app.';
    throw new NetworkError('access_lost', message, { accepted: 'no' });
  }

  return app;
}
