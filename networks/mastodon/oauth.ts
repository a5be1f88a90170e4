import { flag, having, type Json, nullable, text } from '../../domain/json-schema.ts';
import { pasted } from '../../domain/texts.ts';
import { answerReader } from '../answer.ts';
import { NetworkError } from '../network.ts';
import {
  type AuthorizationServer,
  type OauthErrorBody,
  asOauthError,
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
import { baseUrlOf } from '../http.ts';
import { serverName } from './client.ts';
import { connectMastodon } from './connect.ts';
import { readServerMetadata, type ServerMetadata, registeredApp, scopes } from './oauth-server.ts';

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
