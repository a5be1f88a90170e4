import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { ExecutionContext } from 'ava';
import { Provider } from 'oidc-provider';
import type { Grant } from '../../../networks/oauth/contract.ts';
import { app } from './granted-network.ts';
import { listening } from '../../support/listening.ts';

/** Behaviour at refreshes: normal, this status, or no response with the connection open or closed. */
export type Mood = 'usual' | 500 | 429 | 'silent' | 'cut';

/** Remaining life of the first access token by its grant, in milliseconds; 0 or less: expired. */
export type FirstToken = { readonly lastsMs: number };

/** The models of oidc-provider that create tokens without a browser. */
type Stored = { save(): Promise<string> };
type Models = {
  readonly Client: { find(id: string): Promise<object | undefined> };
  readonly Grant: new (of: object) => Stored & { addOIDCScope(scope: string): void };
  readonly RefreshToken: new (of: object) => Stored;
  readonly AccessToken: (new (of: object) => Stored) & { find(value: string): Promise<unknown> };
};

/**
 * oidc-provider as the authorization server of a network with single-use refresh tokens: a reused one ends all tokens
 * of its grant.
 */
export async function startSingleUseServer(t: ExecutionContext) {
  const server = createServer();
  const port = await listening(t, server);
  const url = `http://127.0.0.1:${port}`;
  const provider = newProvider(url);
  const answered: number[] = [];
  const seen = { requests: 0 };
  const control: { mood: Mood; beforeAnswer: () => Promise<void> } = {
    mood: 'usual',
    beforeAnswer: () => Promise.resolve(),
  };
  const usual = provider.callback();
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    seen.requests += 1;
    if (control.mood === 'silent') {
      return;
    }
    if (control.mood === 'cut') {
      request.socket.destroy();
      return;
    }
    if (control.mood !== 'usual') {
      response.writeHead(control.mood, { 'retry-after': '2' }).end('{"error":"server_error"}');
      return;
    }

    // The new tokens exist, and the old one is used, before the response is sent.
    const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse;
    response.end = (...args: unknown[]) => {
      answered.push(response.statusCode);
      void control.beforeAnswer().then(() => end(...args));
      return response;
    };
    void usual(request, response);
  });

  const models = provider as unknown as Models;
  return {
    url,
    tokenUrl: `${url}/token`,
    control,
    /** The number of requests, including unanswered ones. */
    requests: () => seen.requests,
    /** The statuses of its own responses, in order. */
    answered: (): readonly number[] => answered,
    isLive: async (token: string) => (await models.AccessToken.find(token)) !== undefined,
    grant: (first: FirstToken) => newGrant(models, first),
  };
}

const scope = 'offline_access posts.write';

const newProvider = (issuer: string): Provider =>
  new Provider(issuer, {
    clients: [
      {
        client_id: app.clientId,
        client_secret: app.clientSecret,
        redirect_uris: ['https://punctual.example/connect/callback/key'],
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ],
    scopes: scope.split(' '),
    rotateRefreshToken: true,
    cookies: { keys: ['a key'] },
    ttl: { AccessToken: 3600, RefreshToken: 86_400, Grant: 86_400 },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id }),
    }),
  });

/** The grant that a person's consent would give. */
async function newGrant(models: Models, { lastsMs }: FirstToken): Promise<Grant> {
  const accountId = crypto.randomUUID();
  const grant = new models.Grant({ accountId, clientId: app.clientId });
  grant.addOIDCScope(scope);
  const shared = {
    accountId,
    client: await models.Client.find(app.clientId),
    grantId: await grant.save(),
    gty: 'authorization_code',
    scope,
    claims: {},
    authTime: Math.floor(Date.now() / 1000),
    expiresWithSession: false,
  };
  return {
    accessToken: await new models.AccessToken(shared).save(),
    accessEndsAtMs: Date.now() + lastsMs,
    refreshToken: await new models.RefreshToken({ ...shared, rotations: 0 }).save(),
    endsAtMs: null,
  };
}
