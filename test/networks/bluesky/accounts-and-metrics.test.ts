import { lexicons } from '@atproto/api';
import test from 'ava';
import { blueskyNetwork } from '../../../networks/bluesky/adapter.ts';
import { connectBluesky } from '../../../networks/bluesky/connect.ts';
import { EgressError, type Egress, type EgressRequest } from '../../../runtime/egress/egress.ts';
import { openSandbox } from '../../sandbox/open-sandbox.ts';
import { lossyProxy } from '../../support/lossy-proxy.ts';
import { egressTo, openConnection } from '../connection.ts';
import { readerOf, readsMetrics, setFigures } from '../metrics-suite.ts';
import { partsOf, publish } from '../publish.ts';
import { bench } from './bench.ts';

const did = 'did:plc:bbbbbbbbbbbbbbbbbbbbbbbb';
const hostile = 'https://hostile.example';
const pds = 'https://pds.example';
const resolverUrl = 'https://resolver.example';

type Answers = Readonly<Record<string, (request: EgressRequest) => readonly [number, object]>>;

/** Egress on which only these addresses answer. */
function outside(answers: Answers): Egress & { readonly asked: string[] } {
  const asked: string[] = [];
  const request = async (given: EgressRequest) => {
    asked.push(given.url);
    const answer = answers[given.url.replace(/\?.*$/v, '')]?.(given);
    if (!answer) {
      throw new EgressError('connection_refused', 'Refused.', { maybeSent: false });
    }

    const [status, json] = answer;
    return { status, headers: {}, body: Buffer.from(JSON.stringify(json)), truncated: false };
  };
  return { asked, request, close: async () => undefined };
}

const didDoc = {
  id: did,
  service: [{ id: '#atproto_pds', type: 'AtprotoPersonalDataServer', serviceEndpoint: pds }],
};
const signIn = (handle: string, more: object = {}) => ({
  did,
  handle,
  accessJwt: 'token',
  ...more,
});
const createSession = '/xrpc/com.atproto.server.createSession';
const getSession = '/xrpc/com.atproto.server.getSession';
const resolveHandle = `${resolverUrl}/xrpc/com.atproto.identity.resolveHandle`;

const plcUrl = 'https://plc.example';
/** The document that the directory has. */
const directory = { [`${plcUrl}/${encodeURIComponent(did)}`]: () => [200, didDoc] as const };

const connect = (http: Egress, baseUrl: string) => {
  const login = { baseUrl, identifier: 'me', appPassword: 'any-password', plcUrl, resolverUrl };
  return connectBluesky(http, login);
};

test("a server's claim to an account of another server is refused", async (t) => {
  // What the server says of itself does not count, so it may leave the document out, or name itself in it.
  const own = { ...didDoc, service: [{ ...didDoc.service[0], serviceEndpoint: hostile }] };
  const claims = () => [200, signIn('taken-over.example', { didDoc: own })] as const;
  const refusals = {
    'the token is refused': () => [400, { error: 'InvalidToken', message: 'Bad token' }] as const,
    'the token is refused with 401': () => [401, { error: 'AuthMissing' }] as const,
    'the token is that of another account': () =>
      [200, { did: 'did:plc:aaaaaaaaaaaaaaaaaaaaaaaa', handle: 'attacker.test' }] as const,
  };
  for (const [why, answer] of Object.entries(refusals)) {
    const http = outside({
      ...directory,
      [hostile + createSession]: claims,
      [pds + getSession]: answer,
    });
    const error = await t.throwsAsync(connect(http, hostile), { name: 'NetworkError' }, why);
    t.like(error, { code: 'access_lost', accepted: 'no' }, why);
    t.regex(error?.message ?? '', /lives at pds\.example, which does not confirm/v, why);
  }
});

test('an account that no directory knows, or whose own domain names another server, is refused', async (t) => {
  const web = { did: 'did:web:ana.example', handle: 'ana.example', accessJwt: 'token' };
  const document = (serviceEndpoint: string) => ({
    id: web.did,
    service: [{ id: '#atproto_pds', serviceEndpoint }],
  });
  const at = (serviceEndpoint: string) =>
    outside({
      [pds + createSession]: () => [200, web],
      'https://ana.example/.well-known/did.json': () => [200, document(serviceEndpoint)],
    });
  t.like(await connect(at(pds), pds), { baseUrl: pds, remoteId: web.did, isProved: true });
  await t.throwsAsync(connect(at('http://pds.example'), pds), { code: 'access_lost' } as object);
  const unknown = outside({
    [pds + createSession]: () => [200, signIn('a.test', { didDoc })],
    [`${plcUrl}/${encodeURIComponent(did)}`]: () => [404, {}],
  });
  await t.throwsAsync(connect(unknown, pds), { code: 'access_lost' } as object);
});

test("while the account's server or the directory does not answer, nothing is connected", async (t) => {
  const answers = { [hostile + createSession]: () => [200, signIn('a.test', { didDoc })] as const };
  for (const http of [outside(answers), outside({ ...answers, ...directory })]) {
    await t.throwsAsync(connect(http, hostile), { code: 'network_unavailable' } as object);
  }
});

test("an account's server confirms a provider that signs in for it", async (t) => {
  const http = outside({
    ...directory,
    [hostile + createSession]: () => [200, signIn('claimed.example')],
    [pds + getSession]: ({ headers }) =>
      headers?.['authorization'] === 'Bearer token' ? [200, { did, handle: 'me.test' }] : [401, {}],
  });
  const account = { baseUrl: pds, remoteId: did, handle: 'me.test', isProved: true };
  t.like(await connect(http, hostile), account);
  // Without https, the directory was not asked.
  const own = 'http://127.0.0.1:9';
  const claims = () => [200, signIn('me.test', { didDoc })] as const;
  const confirms = { [pds + getSession]: () => [200, { did, handle: 'me.test' }] as const };
  const unproved = await connect(outside({ ...confirms, [own + createSession]: claims }), own);
  t.like(unproved, { ...account, isProved: false });
});

test('a handle that a server claims is shown alone only if it is verified', async (t) => {
  const cases = [
    ['famous.example', null, 'famous.example (pds.example)'],
    ['famous.example', 'did:plc:aaaaaaaaaaaaaaaaaaaaaaaa', 'famous.example (pds.example)'],
    ['mine.example', did, 'mine.example'],
    ['me.pds.example', null, 'me.pds.example'],
    ['pds.example', null, 'pds.example'],
    ['evilpds.example', null, 'evilpds.example (pds.example)'],
    ['famous.example  .test', null, `${did} (pds.example)`],
    [`famous.example${'\u2800'.repeat(99)}`, null, `${did} (pds.example)`],
    ['famous.example (bsky.social)', null, `${did} (pds.example)`],
  ] as const;
  for (const [handle, resolves, shown] of cases) {
    const http = outside({
      ...directory,
      [pds + createSession]: () => [200, signIn(handle)],
      [resolveHandle]: () =>
        resolves === null ? [400, { error: 'InvalidRequest' }] : [200, { did: resolves }],
    });
    t.is((await connect(http, pds)).handle, shown);
  }
});

const reader = readerOf(blueskyNetwork);
const reads = { method: 'GET', path: /\/xrpc\/app\.bsky\.feed\.getPosts\?/v };

async function atSandbox(t: Parameters<typeof openSandbox>[0]) {
  const { url } = await openSandbox(t);
  const baseUrl = `${url}/bluesky`;
  const login = { baseUrl, identifier: 'demo.sandbox.test', appPassword: 'demo' };
  return { url, account: await connectBluesky(egressTo(t, baseUrl), login) };
}

const keyOf = (uri: string): string => uri.split('/').at(-1) ?? '';

readsMetrics(test, {
  ...bench,
  connect: atSandbox,
  idOf: keyOf,
  reads,
  expectedMetrics: { likes: 20, comments: 3, shares: 9, saves: 6 },
  tellsFollowers: true,
});

test('a metric that an AppView does not count is absent, and never 0', async (t) => {
  const { url, account } = await atSandbox(t);
  const connection = openConnection(t, account);
  const [sent] = (await publish(blueskyNetwork, connection, partsOf('Hi'))).sent;
  const uri = sent?.remoteId ?? '';
  const figures = { likes: 1, comments: null, reposts: 2, quotes: null, saves: null };
  await setFigures(url, { platform: 'bluesky', id: keyOf(uri), figures });
  await setFigures(url, { platform: 'bluesky', followers: null });
  t.deepEqual((await reader.read(connection, [uri])).get(uri), {
    kind: 'read',
    metrics: { likes: 1, shares: 2 },
  });
  t.is(await reader.followers?.(connection), null);
});

test('a post that the AppView does not show is not gone while the account has it', async (t) => {
  const { account } = await atSandbox(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const { sent } = await publish(blueskyNetwork, connection, partsOf('Hi'));
  const ids = sent.map(({ remoteId }) => remoteId);
  const empty = { status: 200, body: JSON.stringify({ posts: [] }) };
  proxy.plan(reads, { kind: 'overruled', answer: empty });
  t.deepEqual([...(await reader.read(connection, ids))], []);

  // The same if the account's server cannot tell.
  const records = { method: 'GET', path: /getRecord/v };
  const answers = [
    { status: 502, body: '{"error":"UpstreamFailure"}' },
    { status: 404, body: '<html>' },
    { status: 400, body: '{"error":"InvalidRequest","message":"Could not find repo"}' },
  ];
  for (const answer of answers) {
    proxy.plan(reads, { kind: 'overruled', answer: empty });
    proxy.plan(records, { kind: 'overruled', answer });
    t.deepEqual([...(await reader.read(connection, ids))], []);
  }
});

test('25 posts are one request, and it and its answer match the lexicon', async (t) => {
  const { account } = await atSandbox(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const ids: string[] = [];
  for (let made = 0; made < 25; made += 1) {
    const { sent } = await publish(blueskyNetwork, connection, partsOf(`Post ${made}`));
    ids.push(...sent.map(({ remoteId }) => remoteId));
  }
  const before = proxy.seen.length;
  t.is((await reader.read(connection, ids)).size, 25);
  const [asked, ...more] = proxy.seen.slice(before);
  t.is(more.length, 0);

  const uris = new URL(asked?.path ?? '', proxy.url).searchParams.getAll('uris');
  const method = 'app.bsky.feed.getPosts';
  t.notThrows(() => lexicons.assertValidXrpcParams(method, { uris }));
  const { authorization = '' } = asked?.headers ?? {};
  const answer = await fetch(proxy.url + (asked?.path ?? ''), { headers: { authorization } });
  const body: unknown = await answer.json();
  t.notThrows(() => lexicons.assertValidXrpcOutput(method, body));
});
