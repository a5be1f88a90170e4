import test, { type ExecutionContext } from 'ava';
import { type Asked, startScriptedServer, type Answer } from '../../oauth/scripted-server.ts';
import { blueskyOauth } from '../../../../networks/bluesky/oauth/oauth.ts';
import type { Authorized, Grant } from '../../../../networks/oauth/contract.ts';
import { beginning, contextFor } from '../../oauth/context.ts';

const publicUrl = 'https://punctual.example';
const redirectUri = `${publicUrl}/connect/callback/bluesky`;
const did = 'did:plc:aaaaaaaaaaaaaaaaaaaaaaaa';

/** The server's default tokens. */
const tokens = {
  access_token: 'planted-access-token',
  refresh_token: 'planted-refresh/token+1',
  token_type: 'DPoP',
  scope: 'atproto transition:generic',
  sub: did,
  expires_in: 3600,
};

/** A self-hosted Bluesky server with the directory of its accounts. */
async function ownServer(t: ExecutionContext) {
  /** The test's answers, by path. */
  const answers = new Map<string, (asked: Asked) => Answer>();
  const server = await startScriptedServer(t, (asked) => {
    const path = asked.path.replace(/\?.*$/v, '');
    const known = documents(server.url)[path];
    return answers.get(path)?.(asked) ?? (known ? { json: known } : { status: 404, json: {} });
  });
  const oauth = blueskyOauth({ plcUrl: server.url, resolverUrl: server.url });
  const context = contextFor(t, [server.url], { publicUrl });
  const connect = async (code = 'planted-code/1'): Promise<Authorized> => {
    const values = { handle: server.url };
    const begun = await oauth.begin({
      ...beginning(context, values),
      redirectUriFor: () => redirectUri,
    });
    const { state, kept } = begun;
    const answer = new URLSearchParams({ state, iss: server.url, code });
    return oauth.finish({ ...context, answer, redirectUri, kept });
  };
  const refresh = (grant: Grant, now = context.now): Promise<Grant> =>
    oauth.refresh({ ...context, now, baseUrl: server.url, remoteId: did, grant });
  return { ...server, answers, connect, refresh };
}

const documents = (url: string): Readonly<Record<string, object>> => ({
  '/.well-known/oauth-protected-resource': { resource: url, authorization_servers: [url] },
  '/.well-known/oauth-authorization-server': {
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    pushed_authorization_request_endpoint: `${url}/par`,
    revocation_endpoint: `${url}/revoke`,
    require_pushed_authorization_requests: true,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    scopes_supported: ['atproto', 'transition:generic'],
    token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: ['ES256'],
    dpop_signing_alg_values_supported: ['ES256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  },
  '/par': { request_uri: 'urn:request:1', expires_in: 60 },
  '/token': tokens,
  '/revoke': {},
  [`/${encodeURIComponent(did)}`]: documentOf(url),
  '/xrpc/com.atproto.server.getSession': { did, handle: 'ana.example', active: true },
});

const documentOf = (url: string) => ({
  id: did,
  alsoKnownAs: ['at://ana.example'],
  service: [{ id: '#atproto_pds', type: 'AtprotoPersonalDataServer', serviceEndpoint: url }],
});

/** Secrets in requests, which no message may repeat. */
const secretsIn = (asked: readonly Asked[]): string[] =>
  asked.flatMap(({ form, headers: { dpop, authorization } }) =>
    [
      ...['code', 'code_verifier', 'refresh_token', 'client_assertion'].map((name) =>
        form.get(name),
      ),
      typeof dpop === 'string' ? dpop : null,
      authorization?.split(' ')[1] ?? null,
    ].filter((secret) => secret !== null),
  );

function holdsNoSecret(t: ExecutionContext, error: Error | undefined, asked: readonly Asked[]) {
  const secrets = secretsIn(asked);
  t.true(secrets.length > 3);
  for (const secret of secrets) {
    t.false(error?.message.includes(secret), error?.message);
    t.false(error?.message.includes(encodeURIComponent(secret)), error?.message);
  }
}

const wordsFor = {
  'the body of the request': ({ body }: Asked) => body,
  'its values': ({ form }: Asked) => [...form.values()].join(' '),
  'its values as JSON': ({ form }: Asked) => JSON.stringify([...form.values()]),
};

for (const [what, words] of Object.entries(wordsFor)) {
  test(`no message has a secret when a server repeats ${what}`, async (t) => {
    for (const error of ['invalid_grant', 'invalid_client', 'something_new']) {
      const server = await ownServer(t);
      const { grant } = await server.connect();
      server.answers.set('/token', (asked) => ({
        status: 400,
        json: { error, error_description: `No: ${words(asked)}` },
      }));
      holdsNoSecret(t, await t.throwsAsync(server.refresh(grant)), server.asked);
      holdsNoSecret(t, await t.throwsAsync(server.connect()), server.asked);
      server.answers.set('/par', server.answers.get('/token') ?? (() => ({ json: {} })));
      holdsNoSecret(t, await t.throwsAsync(server.connect()), server.asked);
    }
  });
}

test('a token that is invalid as a header value is refused', async (t) => {
  const server = await ownServer(t);
  const { grant } = await server.connect();
  for (const wrong of [
    { access_token: 'a\r\nx-evil: b' },
    { access_token: '' },
    { access_token: 'a'.repeat(30_000) },
    { refresh_token: 'a\nb' },
  ]) {
    server.answers.set('/token', () => ({ json: { ...tokens, ...wrong } }));
    t.like(await t.throwsAsync(server.connect()), { name: 'OauthError', code: 'unavailable' });
    t.like(await t.throwsAsync(server.refresh(grant)), { code: 'network_unavailable' });
  }
});

test('the server must ask the person for consent, even after a connection in another workspace', async (t) => {
  const server = await ownServer(t);
  await server.connect();
  const pushed = server.asked.find(({ path }) => path === '/par');
  t.is(pushed?.form.get('prompt'), 'consent');
});

test('a handle that the server claims is shown alone only if it resolves to the account', async (t) => {
  const server = await ownServer(t);
  const { host } = new URL(server.url);
  const shown = async () => (await server.connect()).accounts.map(({ handle }) => handle);
  t.deepEqual(await shown(), [`ana.example (${host})`]);
  server.answers.set('/xrpc/com.atproto.identity.resolveHandle', () => ({
    json: { did: tokens.sub },
  }));
  t.deepEqual(await shown(), ['ana.example']);
});
