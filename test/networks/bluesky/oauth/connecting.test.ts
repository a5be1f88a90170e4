import type { ExecutionContext } from 'ava';
import Koa from 'koa';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { clientMetadataRouter } from '../../../../api/connect/routes.ts';
import { blueskyNetwork } from '../../../../networks/bluesky/adapter.ts';
import { openNetworks } from '../../../../networks/registry.ts';
import { createSealer } from '../../../../runtime/secrets.ts';
import { freePort } from '../../../../scripts/ports.ts';
import { credentialsOf } from '../../../../services/channels/grants.ts';
import { redirectUri as redirectUriOf } from '../../../../services/channels/oauth-context.ts';
import { blueskyAccount } from '../../../support/accounts.ts';
import { needs } from '../../../support/needs.ts';
import { authorizeAtPds } from '../../../support/pds-browser.ts';
import { openConnection } from '../../connection.ts';
import { beginning } from '../../oauth/context.ts';
import { partsOf, publish } from '../../publish.ts';
import { answering, begin, connectedByOauth, contextOf, finish, oauthOfTests } from './bench.ts';

const test = needs('pds');

test('an account connects in a browser by its handle', async (t) => {
  const { person, accounts, grant } = await connectedByOauth(t);
  const { did: remoteId, handle } = person;
  const { port } = new URL(person.baseUrl);

  const baseUrl = `http://localhost:${port}`;
  t.like(accounts, { length: 1, 0: { baseUrl, remoteId, handle, isProved: true } });
  t.is(typeof grant.refreshToken, 'string');
});

test('a grant has its expiry time, and survives a round trip through the database', async (t) => {
  const beganAtMs = Date.now();
  const { grant } = await connectedByOauth(t);

  const hours = ((grant.accessEndsAtMs ?? 0) - beganAtMs) / 3_600_000;
  t.true(hours > 0.9 && hours < 1.1, `${hours} h`);
  const days = ((grant.endsAtMs ?? 0) - beganAtMs) / 86_400_000;
  t.true(days >= 14 && days < 14.01, `${days} days`);
  t.deepEqual(JSON.parse(JSON.stringify(grant)), grant);
});

test("an account connects by its DID, with an @, and by its server's address", async (t) => {
  const person = await blueskyAccount();
  const context = contextOf(t);
  const server = `http://localhost:${new URL(person.baseUrl).port}/`;
  const named = [
    person.did,
    ` @${person.handle.toUpperCase()} `,
    `\u202A@${person.handle}\u202C.`,
    server,
  ];
  for (const name of named) {
    const begun = await begin(context, name);
    const back = await authorizeAtPds(begun.url, person);
    t.is(back.searchParams.get('state'), begun.state);
    const { accounts } = await finish(context, begun, back);
    t.is(accounts[0]?.remoteId, person.did);
  }
});

test("the authorization URL does not contain the request's parameters", async (t) => {
  const { handle } = await blueskyAccount();
  const { url } = await begin(contextOf(t), handle);

  t.deepEqual([...new URL(url).searchParams.keys()], ['client_id', 'request_uri']);
});

test('a person who denies connects nothing, and sees why', async (t) => {
  const person = await blueskyAccount();
  const context = contextOf(t);
  const begun = await begin(context, person.handle);
  const back = await authorizeAtPds(begun.url, person, 'no');

  const error = await t.throwsAsync(finish(context, begun, back));
  t.like(error, { name: 'OauthError', code: 'denied' });
});

test('naming one account and signing in to another connects neither', async (t) => {
  const [named, other] = [await blueskyAccount(), await blueskyAccount()];
  const context = contextOf(t);
  const begun = await begin(context, named.handle);
  const back = await authorizeAtPds(begun.url, other);

  const error = await t.throwsAsync(finish(context, begun, back));
  t.like(error, { name: 'OauthError', code: 'denied' }, 'the link can be used again');
  t.true(error?.message.includes(other.handle));
});

test('a callback works once', async (t) => {
  const person = await blueskyAccount();
  const context = contextOf(t);
  const begun = await begin(context, person.handle);
  const back = await authorizeAtPds(begun.url, person);
  await finish(context, begun, back);

  t.like(await t.throwsAsync(finish(context, begun, back)), { code: 'expired' });
});

test("a callback from another server, or without the server's name, connects nothing", async (t) => {
  const person = await blueskyAccount();
  const context = contextOf(t);
  const begun = await begin(context, person.handle);
  const back = await authorizeAtPds(begun.url, person);
  for (const issuer of ['https://evil.example', null]) {
    const forged = new URL(back);
    forged.searchParams.delete('iss');
    if (issuer !== null) {
      forged.searchParams.set('iss', issuer);
    }

    const error = await t.throwsAsync(finish(context, begun, forged));
    t.like(error, { name: 'OauthError', code: 'unavailable' });
  }
});

test('unknown and invalid handles are reported before the browser is redirected', async (t) => {
  const wrong = ['nobody-has-this.test', 'did:plc:aaaaaaaaaaaaaaaaaaaaaaaa', 'not a handle', ''];
  for (const name of [...wrong, 'javascript:alert(1)', 'me@example.com', 'did:key:z6Mk']) {
    const error = await t.throwsAsync(begin(contextOf(t), name));
    t.like(error, { name: 'AppError', code: 'invalid_request' }, name);
  }
});

test('a server or directory that does not answer is reported as unavailable', async (t) => {
  const { handle } = await blueskyAccount();
  const { http } = contextOf(t);
  for (const path of [/resolveHandle/v, /did:plc|did%3A/v, /well-known\/oauth/v, /oauth\/par/v]) {
    for (const answer of ['nothing', { status: 503 }] as const) {
      const away = answering(http, ({ url }) => path.test(url), answer);
      const error = await t.throwsAsync(begin(contextOf(t, { http: away }), handle));
      t.like(error, { name: 'OauthError', code: 'unavailable' }, String(path));
    }
  }
});

test('a server without OAuth gets its own error, so that its accounts connect by app password', async (t) => {
  const { handle } = await blueskyAccount();
  const { http } = contextOf(t);
  const old = answering(http, ({ url }) => url.includes('well-known/oauth'), { status: 404 });

  const error = await t.throwsAsync(begin(contextOf(t, { http: old }), handle));
  t.like(error, { name: 'OauthError', code: 'unsupported' });
  t.regex(error?.message ?? '', /app password/);
});

test('no request goes to an address that the operator did not allow', async (t) => {
  for (const address of ['http://127.0.0.1:9', 'https://10.0.0.1', 'http://169.254.169.254']) {
    const error = await t.throwsAsync(begin(contextOf(t), address));
    t.like(error, { name: 'OauthError', code: 'unsupported' });
    t.regex(error?.message ?? '', /cannot be reached/);
  }
});

test('if no server can reach this service, the error names the setting to correct', async (t) => {
  const { handle } = await blueskyAccount();
  for (const publicUrl of [
    'http://punctual.example',
    'http://localhost:3000',
    'https://10.0.0.5',
  ]) {
    const attempt = oauthOfTests().begin({
      ...beginning(contextOf(t, { publicUrl }), { handle }),
      redirectUriFor: () => `${publicUrl}/connect/callback/bluesky`,
    });
    const error = await t.throwsAsync(attempt);
    t.like(error, { name: 'OauthError', code: 'misconfigured' });
    t.regex(error?.message ?? '', /PUNCTUAL_PUBLIC_URL/);
  }
});

const sealer = createSealer('b2'.repeat(32));

/** Serves the client metadata of an installation. The tests' PDS reads its address from the loopback. */
async function installation(t: ExecutionContext) {
  const port = await freePort();
  const publicUrl = `https://punctual-${port}.example.com`;
  const app = new Koa();
  app.use(clientMetadataRouter({ publicUrl, sealer, networks: openNetworks({}) }).routes());
  const server = app.listen(port, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port: taken } = server.address() as AddressInfo;
  const document = `http://127.0.0.1:${taken}/connect/bluesky/client-metadata.json`;
  return { publicUrl, document, redirectUri: redirectUriOf(publicUrl, 'bluesky') };
}

test('an https installation signs its requests, and its accounts stay connected for two years', async (t) => {
  const { publicUrl, redirectUri } = await installation(t);
  const person = await blueskyAccount();
  const { baseUrl, did: remoteId, handle } = person;
  const context = contextOf(t, { publicUrl, derive: sealer.derive });
  const oauth = oauthOfTests();
  const begun = await oauth.begin({
    ...beginning(context, { handle }),
    redirectUriFor: () => redirectUri,
  });
  const { searchParams: answer } = await authorizeAtPds(begun.url, person);
  const { kept } = begun;
  const { grant, accounts } = await oauth.finish({ ...context, answer, redirectUri, kept });

  const years = ((grant.endsAtMs ?? 0) - Date.now()) / (365 * 86_400_000);
  t.true(years > 1.99 && years <= 2, `${years} years`);

  const next = await oauth.refresh({ ...context, baseUrl, remoteId, grant });
  t.not(next.accessToken, grant.accessToken);
  const [account] = accounts;
  const credentials = credentialsOf(next);
  const connection = account && openConnection(t, { ...account, credentials });
  t.is(connection && (await publish(blueskyNetwork, connection, partsOf('Hi'))).sent.length, 1);
});

test('the client metadata of an installation has the public half of its key, and always the same', async (t) => {
  const [{ document, publicUrl, redirectUri }, other] = [
    await installation(t),
    await installation(t),
  ];
  const response = await fetch(document);
  t.regex(response.headers.get('content-type') ?? '', /^application\/json/);
  const metadata = (await response.json()) as { jwks: { keys: object[] } };
  t.like(metadata, {
    client_id: `${publicUrl}/connect/bluesky/client-metadata.json`,
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'private_key_jwt',
  });
  const members = Object.keys(metadata.jwks.keys[0] ?? {}).toSorted();
  t.deepEqual(members, ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  const again = (await (await fetch(other.document)).json()) as typeof metadata;
  t.deepEqual(again.jwks, metadata.jwks);
});
