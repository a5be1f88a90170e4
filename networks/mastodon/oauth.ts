import type { Json } from '../../domain/json-schema.ts';
import { answerReader } from '../answer.ts';
import { OauthError, type Grant, type Oauth, type OauthApp, type OauthContext } from '../oauth.ts';
import type { AuthorizationServer, Refused } from '../oauth/authorization-server.ts';
import { beginCodeFlow, finishCodeFlow, withoutSecrets } from '../oauth/code-flow.ts';
import { asOauthError } from '../oauth/oauth-failure.ts';
import { refreshGrant } from '../oauth/refresh-grant.ts';
import { grantOf } from '../oauth/tokens.ts';
import { withinSignal } from '../oauth/within-signal.ts';
import { NetworkError } from '../network.ts';
import { baseUrlOf } from '../send-request.ts';
import { readAnnounced, type Announced } from './announced.ts';
import { serverName } from './client.ts';
import { connectMastodon } from './connect.ts';
import { registeredApp, scopes } from './registration.ts';
import { serverIn } from './server-in.ts';

/** What a flow keeps beside what every code flow keeps. */
type Kept = Announced & { readonly baseUrl: string };

const readKept = answerReader<Kept>({
  type: 'object',
  required: ['baseUrl', 'usesPkce', 'issuer'],
  properties: {
    baseUrl: { type: 'string' },
    usesPkce: { type: 'boolean' },
    issuer: { type: ['string', 'null'] },
  },
});

/** Of a grant whose access ends, as Pleroma's does: refreshes need the app that it was given to. */
const readApp = answerReader<OauthApp>({
  type: 'object',
  required: ['clientId', 'clientSecret'],
  properties: { clientId: { type: 'string' }, clientSecret: { type: 'string' } },
});

/**
 * Accounts of servers with Mastodon's API. This service is registered at each of them on its first connection. Tokens do
 * not end at most servers.
 *
 * Source: https://docs.joinmastodon.org/spec/oauth/
 */
export const mastodonOauth: Oauth = {
  async begin({ values, state, redirectUriFor, ...context }) {
    const baseUrl = context.sandboxUrl ?? baseUrlOf(serverIn(values['url'] ?? ''));
    const redirectUri = redirectUriFor(baseUrl);
    const root = rootOf(context, baseUrl);
    try {
      const announced = await readAnnounced(context, root);
      const app = await registeredApp({ context, baseUrl, root, redirectUri });
      const begun = await beginCodeFlow(serverWith(root, app, announced), { state, redirectUri });
      const kept: Kept = { ...announced, baseUrl };
      return { ...begun, kept: { ...(begun.kept as object), ...kept } as Json };
    } catch (error) {
      throw asOauthError(error, nameless);
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
        accounts: [withoutSecrets(account)],
      };
    } catch (error) {
      throw asOauthError(error, server);
    }
  },

  refresh: (request) =>
    refreshGrant(() => {
      const app = appOf(request.grant);
      const announced = { usesPkce: false, issuer: null };
      return serverWith(rootOf(request, request.baseUrl), app, announced);
    }, request),
};

const advice =
  'Start over; if that does not help, its software may not speak all of Mastodon’s API.';
const nameless = { name: serverName, appAdvice: advice };

/** The sandbox plays all networks, each under a path of its own. */
const rootOf = ({ sandboxUrl }: Pick<OauthContext, 'sandboxUrl'>, baseUrl: string): string =>
  sandboxUrl === null ? baseUrl : `${sandboxUrl}/mastodon`;

const serverWith = (
  root: string,
  app: OauthApp,
  { usesPkce, issuer }: Announced,
): AuthorizationServer => ({
  ...nameless,
  app,
  authorizeUrl: `${root}/oauth/authorize`,
  tokenUrl: `${root}/oauth/token`,
  ...(issuer !== null && { issuer, alwaysSaysIssuer: true }),
  secretIn: 'form',
  usesPkce,
  scopes,
  // Without it a server that knows the person from another workspace lets them in without a question.
  parameters: { force_login: 'true' },
  // Only a person can have this service registered anew.
  endsGrant: ({ error }: Refused) => error === 'invalid_client',
});

function appOf({ data = null }: Grant): OauthApp {
  const app = readApp(data);
  if (!app) {
    const message = 'The access cannot be renewed: the app that it was given to is not known.';
    throw new NetworkError('access_lost', message, { taken: 'no' });
  }

  return app;
}
