import type { ActivityDeps } from '../../../activities/deps.ts';
import {
  NetworkError,
  type Connection,
  type Network,
  type SentPart,
} from '../../../networks/network.ts';
import type { OauthAppCredentials, OauthEntry } from '../../../networks/oauth/contract.ts';
import { refreshGrant } from '../../../networks/oauth/token-endpoint.ts';
import type { EgressResponse } from '../../../runtime/egress/egress.ts';
import { sendNetworkRequest, type NetworkRequest } from '../../../networks/http.ts';
import { fakeNetwork } from '../../support/networks.ts';

/** The OAuth client of the tests. */
export const app: OauthAppCredentials = {
  clientId: 'punctual-app',
  clientSecret: 'secret-of-the-app',
};

/** A network whose API answers 401 to expired tokens, as most do. */
export const grantedNetwork: Network = {
  id: 'fake',
  threads: 'sequential',
  rules: fakeNetwork().rules,
  prepare: async (_connection, parts) => parts.map((part) => ({ ...part, data: null })),
  upload: async () => [],
  send: async (connection, { parts }) => {
    const body = { text: parts[0]?.text };
    const answer = await ask(connection, {
      method: 'POST',
      path: '/posts',
      body,
      purpose: 'create',
    });
    return [postOf(connection, (answer as { id: string }).id)];
  },
  reconcile: async (connection, { parts }) => {
    const path = `/posts?text=${encodeURIComponent(parts[0]?.text ?? '')}`;
    const { ids } = (await ask(connection, { method: 'GET', path, purpose: 'reconcile' })) as {
      ids: string[];
    };
    const candidates = ids.map((id) => [postOf(connection, id)]);
    return ids.length === 0 ? { kind: 'absent' } : { kind: 'found', candidates };
  },
};

const postOf = ({ baseUrl }: Connection, remoteId: string): SentPart => ({
  remoteId,
  url: `${baseUrl}/posts/${remoteId}`,
});

async function ask(connection: Connection, request: NetworkRequest): Promise<unknown> {
  const { accessToken } = connection.credentials as { accessToken: string };
  const headers = { authorization: `Bearer ${accessToken}` };
  const response = await sendNetworkRequest(connection, { ...request, headers }, 'The network');
  return read(response);
}

function read({ status, body }: EgressResponse): unknown {
  if (status === 401) {
    throw new NetworkError('access_lost', 'The network does not take the token.', {
      accepted: 'no',
      server: 'answered',
    });
  }

  return JSON.parse(body.toString('utf8'));
}

/** Refreshes grants with the code flow that networks share. */
export const grantedOauth = (tokenUrl: string): Readonly<Record<string, OauthEntry>> => ({
  fake: {
    missing: [],
    fields: {},
    load: async () => ({
      begin: () => Promise.reject(new Error('No test connects it in a browser.')),
      finish: () => Promise.reject(new Error('No test connects it in a browser.')),
      refresh: (request) =>
        refreshGrant(
          () => ({
            name: 'The network',
            app,
            appAdvice: 'The test has to check its app.',
            authorizeUrl: tokenUrl,
            tokenUrl,
            secretIn: 'header',
            usesPkce: true,
            scopes: [],
          }),
          request,
        ),
    }),
  },
});

/** Dependencies of a worker with this network only. */
export const withGrantedNetwork = (deps: ActivityDeps, tokenUrl: string): ActivityDeps => ({
  ...deps,
  networks: { fake: grantedNetwork },
  oauth: grantedOauth(tokenUrl),
  rules: { ...deps.rules, fake: grantedNetwork.rules },
});
