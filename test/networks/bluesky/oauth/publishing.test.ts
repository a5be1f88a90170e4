import { generateKeyPairSync } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { AppBskyEmbedImages } from '@atproto/api';
import { blueskyNetwork } from '../../../../networks/bluesky/adapter.ts';
import { checkAccount } from '../../../../networks/bluesky/connect.ts';
import { nonces } from '../../../../networks/bluesky/oauth/grant.ts';
import type { Json } from '../../../../domain/json-schema.ts';
import type { Account } from '../../../../networks/network.ts';
import type { Grant } from '../../../../networks/oauth/contract.ts';
import { credentialsOf } from '../../../../services/channels/grants.ts';
import { lossyProxy } from '../../../support/lossy-proxy.ts';
import { needs } from '../../../support/needs.ts';
import { openConnection } from '../../connection.ts';
import { pictureFile } from '../../files.ts';
import { partsOf, partsWith, publish } from '../../publish.ts';
import { passesAsNetwork } from '../../suite.ts';
import { bench, blobBytes, connected, recordsOf, testAccountOf } from '../bench.ts';
import { connectedByOauth } from './bench.ts';

const test = needs('pds');

const accountWith = (account: Account | undefined, grant: Grant): Account => {
  if (!account) {
    throw new Error('No account was connected.');
  }

  return { ...account, credentials: credentialsOf(grant) };
};

/** An account of one test that was connected in a browser, opened as the core does. */
async function granted(t: ExecutionContext) {
  const { accounts, grant, person, refresh } = await connectedByOauth(t);
  return { account: accountWith(accounts[0], grant), grant, person, refresh };
}

function wrongKey(): Json {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { ...(privateKey.export({ format: 'jwk' }) as Record<string, string>) };
}

const { port } = new URL(process.env['PUNCTUAL_TEST_PDS_URL'] ?? 'http://127.0.0.1:1');

passesAsNetwork(test, {
  ...bench,
  wrongCredentials: {
    accessToken: 'a-token-that-nobody-granted',
    data: {
      clientId: 'http://localhost',
      redirectUri: 'http://127.0.0.1/',
      issuer: 'http://localhost',
      audience: `http://localhost:${port}`,
      scope: 'atproto',
      authMethod: { method: 'none' },
      dpopJwk: wrongKey(),
    },
  },
  makeAccount: async (t) => testAccountOf(await granted(t)),
});

// Nonces belong to the process, so these tests are serial.

/** The requests of one post as the server sees them. */
async function requestsOf(t: ExecutionContext, account: Account, parts = partsOf('Hi')) {
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  await publish(blueskyNetwork, connection, parts);
  return proxy.seen.map(({ path }) => path.replace(/^.*\.|\?.*$/gv, ''));
}

test.serial('the post is sent with the server’s latest nonce', async (t) => {
  const { account } = await granted(t);
  nonces.del(account.baseUrl);

  t.deepEqual(await requestsOf(t, account), ['getSession', 'getSession', 'applyWrites']);
  t.deepEqual(await requestsOf(t, account), ['applyWrites']);
});

test.serial('a server with a new nonce gets the post once, in a second request', async (t) => {
  const { account, person } = await granted(t);
  nonces.set(account.baseUrl, 'a-nonce-of-before');

  t.deepEqual(await requestsOf(t, account), ['applyWrites', 'applyWrites']);
  t.is((await recordsOf(person.agent)).length, 1);
});

test.serial('a file is uploaded once, with any nonce that the server asks for', async (t) => {
  const { account, person } = await granted(t);
  const parts = partsWith([await pictureFile()], 'With a picture');
  nonces.del(account.baseUrl);
  const requests = await requestsOf(t, account, parts);
  t.deepEqual(requests, ['getSession', 'getSession', 'uploadBlob', 'applyWrites']);

  const [post] = await recordsOf(person.agent);
  t.true(AppBskyEmbedImages.isMain(post?.record.embed));
});

test.serial(
  'a file whose upload was refused for its nonce is read again from the beginning',
  async (t) => {
    const { account, person } = await granted(t);
    const file = await pictureFile();
    nonces.set(account.baseUrl, 'a-nonce-of-before');
    const requests = await requestsOf(t, account, partsWith([file], 'With a picture'));
    t.deepEqual(requests, ['uploadBlob', 'uploadBlob', 'applyWrites']);

    const [post] = await recordsOf(person.agent);
    const embed = post?.record.embed;
    const image = AppBskyEmbedImages.isMain(embed) ? embed.images[0]?.image : undefined;
    const bytes = image && (await blobBytes(person.agent, image));
    t.deepEqual(bytes && Buffer.from(bytes), file.bytes);
  },
);

test('every request has its own proof, and the token only with that proof', async (t) => {
  const { account } = await granted(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  await publish(blueskyNetwork, connection, partsOf('One'));
  await publish(blueskyNetwork, connection, partsOf('Two'));

  const proofs = proxy.seen.map(({ headers }) => String(headers['dpop']));
  t.is(new Set(proofs).size, proxy.seen.length);
  t.true(proxy.seen.every(({ headers }) => headers.authorization?.startsWith('DPoP ')));
});

// Access that ends.

test('a suspended account has lost access', async (t) => {
  const { account, person } = await granted(t);
  await person.takeDown();

  const error = await t.throwsAsync(requestsOf(t, account));
  t.like(error, { name: 'NetworkError', code: 'access_lost', accepted: 'no' });
});

test('a token of another key has lost access, and the message does not repeat it', async (t) => {
  const { account, grant } = await granted(t);
  const data = { ...Object(grant.data), dpopJwk: wrongKey() };
  const stolen = accountWith(account, { ...grant, data });

  const error = await t.throwsAsync(requestsOf(t, stolen));
  t.like(error, { code: 'access_lost', accepted: 'no' });
  t.false(error?.message.includes(grant.accessToken));
});

test('a refused proof, as with a wrong clock, loses no access', async (t) => {
  const { account } = await granted(t);
  const { http, ...connection } = openConnection(t, account);
  const broken = {
    ...http,
    request: (request: Parameters<typeof http.request>[0]) => {
      const { dpop, ...headers } = request.headers ?? {};
      return http.request({ ...request, headers: { ...headers, dpop: `${dpop}x` } });
    },
  };
  const attempt = publish(blueskyNetwork, { ...connection, http: broken }, partsOf('Hi'));
  t.like(await t.throwsAsync(attempt), { code: 'internal', accepted: 'no' });
});

test('a refreshed token opens the account', async (t) => {
  const { account, grant, refresh, person } = await granted(t);
  const next = await refresh(grant);
  await requestsOf(t, accountWith(account, next));

  t.is((await recordsOf(person.agent)).length, 1);
});

// Checks.

test('a check finds the token’s account, for each way of connecting', async (t) => {
  const byPassword = await connected(t);
  const byOauth = await granted(t);
  for (const { account, person } of [byPassword, byOauth]) {
    const proxy = await lossyProxy(t, account.baseUrl);
    const connection = openConnection(t, account, { baseUrl: proxy.url });
    t.deepEqual(await checkAccount(connection), { remoteId: person.did });
    t.true(proxy.seen.every(({ path }) => path === '/xrpc/com.atproto.server.getSession'));
  }
});

test('a check finds that access is lost', async (t) => {
  const { account, person } = await granted(t);
  await person.takeDown();
  t.like(await t.throwsAsync(checkAccount(openConnection(t, account))), { code: 'access_lost' });
});
