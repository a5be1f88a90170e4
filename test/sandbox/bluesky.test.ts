import { AtpAgent, lexicons, RichText } from '@atproto/api';
import { cidForLex } from '@atproto/lex-cbor';
import { jsonToLex } from '@atproto/lex-json';
import test, { type ExecutionContext } from 'ava';
import { blueskyNetwork } from '../../networks/bluesky/adapter.ts';
import { connectBluesky } from '../../networks/bluesky/connect.ts';
import { egressTo, openConnection, waysOutTo } from '../networks/connection.ts';
import { pictureFile, videoFile } from '../networks/files.ts';
import { partsOf, partsWith, publish } from '../networks/publish.ts';
import { blueskyClient, openSandbox, readPage } from './open-sandbox.ts';

const collection = 'app.bsky.feed.post';
const createType = 'com.atproto.repo.applyWrites#create' as const;
const keys = ['3mabcdefghij2', '3mabcdefghij3', '3mabcdefghij4'];
const recordOf = (text: string) => ({
  $type: collection,
  text,
  createdAt: '2026-11-20T10:00:00.000Z',
});
const cidOf = async (record: object) => String(await cidForLex(jsonToLex({ ...record })));

test('a post from Bluesky’s client reads back, under its record’s CID', async (t) => {
  const { url } = await openSandbox(t);
  const agent = await blueskyClient(url);
  const rich = new RichText({ text: '👩‍👩‍👧‍👦 hi @demo.sandbox.test, #now: https://example.com/é' });
  await rich.detectFacets(agent);

  const made = await agent.post({ text: rich.text, facets: rich.facets ?? [], langs: ['en'] });
  const rkey = made.uri.split('/').at(-1) ?? '';
  const { data } = await agent.com.atproto.repo.getRecord({
    repo: agent.assertDid,
    collection,
    rkey,
  });

  t.is(data.cid, made.cid);
  t.is(made.cid, await cidOf(data.value));
  t.like(data.value, { text: rich.text, langs: ['en'] });
  t.is(rich.facets?.length, 3);
});

test('a thread is one write: it is stored completely, and only once', async (t) => {
  const { url } = await openSandbox(t);
  const agent = await blueskyClient(url);
  const repo = agent.assertDid;
  const refOf = async (n: number, record: object) => ({
    uri: `at://${repo}/${collection}/${keys[n]}`,
    cid: await cidOf(record),
  });
  const root = recordOf('one');
  const first = await refOf(0, root);
  const middle = { ...recordOf('two'), reply: { root: first, parent: first } };
  const last = { ...recordOf('three'), reply: { root: first, parent: await refOf(1, middle) } };
  const writes = [root, middle, last].map((value, n) => ({
    $type: createType,
    collection,
    rkey: keys[n] ?? '',
    value,
  }));

  const { data } = await agent.com.atproto.repo.applyWrites({ repo, writes });
  await t.throwsAsync(agent.com.atproto.repo.applyWrites({ repo, writes }));
  const listed = await agent.com.atproto.repo.listRecords({ repo, collection });

  const cids = await Promise.all([root, middle, last].map(cidOf));
  t.deepEqual(
    data.results?.map((result) => 'cid' in result && result.cid),
    cids,
  );
  t.deepEqual(
    listed.data.records.map(({ cid }) => cid),
    cids.toReversed(),
  );
});

test('a batch with one invalid record or one used key writes nothing', async (t) => {
  const { url } = await openSandbox(t);
  const agent = await blueskyClient(url);
  const repo = agent.assertDid;
  await agent.com.atproto.repo.createRecord({
    repo,
    collection,
    rkey: keys[1] ?? '',
    record: recordOf('here'),
  });
  const batch = (...texts: readonly [string, string][]) =>
    agent.com.atproto.repo.applyWrites({
      repo,
      writes: texts.map(([rkey, text]) => ({
        $type: createType,
        collection,
        rkey,
        value: recordOf(text),
      })),
    });

  await t.throwsAsync(batch([keys[0] ?? '', 'fits'], [keys[2] ?? '', 'x'.repeat(301)]), {
    message: /300 graphemes/v,
  });
  await t.throwsAsync(batch([keys[0] ?? '', 'fits'], [keys[1] ?? '', 'taken']));
  await t.throwsAsync(batch([keys[0] ?? '', 'twice'], [keys[0] ?? '', 'twice']));
  await t.throwsAsync(batch([keys[0] ?? '', 'fits'], ['own-key', 'no TID']), { message: /TID/v });

  const { data } = await agent.com.atproto.repo.listRecords({ repo, collection });
  t.deepEqual(
    data.records.map(({ value }) => value['text']),
    ['here'],
  );
});

test('putRecord with swapRecord null can be repeated, and never overwrites', async (t) => {
  const { url } = await openSandbox(t);
  const agent = await blueskyClient(url);
  const put = (text: string) =>
    agent.com.atproto.repo.putRecord({
      repo: agent.assertDid,
      collection,
      rkey: keys[0] ?? '',
      record: recordOf(text),
      swapRecord: null,
    });

  const made = await put('first');
  const again = await put('first');
  await t.throwsAsync(put('other'), { message: new RegExp(made.data.cid, 'v') });

  t.is(again.data.cid, made.data.cid);
  t.truthy(made.data.commit);
  t.is(again.data.commit, undefined);
});

test('the limit is 300 characters as a reader counts them', async (t) => {
  const { url } = await openSandbox(t);
  const agent = await blueskyClient(url);

  await t.notThrowsAsync(agent.post({ text: 'é'.normalize('NFD').repeat(300) }));
  await t.throwsAsync(agent.post({ text: 'é'.repeat(301) }), { message: /300 graphemes/v });
});

test('a wrong password, a wrong token and another account’s repository are refused', async (t) => {
  const { url } = await openSandbox(t);
  const agent = await blueskyClient(url);
  const stranger = new AtpAgent({ service: url });
  const sessionWith = async (authorization?: string) => {
    const headers = authorization === undefined ? {} : { authorization };
    const answer = await fetch(`${url}/bluesky/xrpc/com.atproto.server.getSession`, { headers });
    return [answer.status, ((await answer.json()) as { error?: string }).error];
  };
  const session = agent.session;

  await t.throwsAsync(stranger.login({ identifier: 'demo.sandbox.test', password: 'no' }), {
    message: /password/v,
  });
  t.deepEqual(await sessionWith(), [401, 'AuthMissing']);
  t.deepEqual(await sessionWith('Bearer a.b.c'), [400, 'InvalidToken']);
  t.deepEqual(await sessionWith(`Bearer ${session?.refreshJwt}`), [400, 'InvalidToken']);
  t.deepEqual(await sessionWith(`Bearer ${session?.accessJwt}`), [200, undefined]);
  const record = recordOf('not mine');
  const foreign = { repo: 'did:plc:aaaaaaaaaaaaaaaaaaaaaaaa', collection, record };
  await t.throwsAsync(agent.com.atproto.repo.createRecord(foreign));
});

test('an access token expires at its stated time, and the refresh token gets a new one', async (t) => {
  let nowMs = Date.now();
  const { url } = await openSandbox(t, { now: () => nowMs });
  const agent = await blueskyClient(url);
  const before = agent.session?.accessJwt ?? '';
  const { exp } = JSON.parse(Buffer.from(before.split('.')[1] ?? '', 'base64url').toString());
  const ask = async () => {
    const headers = { authorization: `Bearer ${before}` };
    const answer = await fetch(`${url}/xrpc/com.atproto.server.getSession`, { headers });
    return [answer.status, ((await answer.json()) as { error?: string }).error];
  };

  nowMs = exp * 1000 - 1;
  t.deepEqual(await ask(), [200, undefined]);
  nowMs = exp * 1000;
  t.deepEqual(await ask(), [400, 'ExpiredToken']);
  await agent.post({ text: 'the client renews by itself' });
  t.not(agent.session?.accessJwt, before);
});

test('every answer matches Bluesky’s lexicon', async (t) => {
  const { url } = await openSandbox(t);
  const agent = await blueskyClient(url);
  const { com, assertDid: repo } = agent;
  const handle = 'demo.sandbox.test';
  const session = await com.atproto.server.createSession({ identifier: handle, password: 'demo' });
  const created = await com.atproto.repo.createRecord({ repo, collection, record: recordOf('hi') });
  const rkey = created.data.uri.split('/').at(-1) ?? '';
  const answers = {
    'com.atproto.server.createSession': session.data,
    'com.atproto.server.getSession': (await com.atproto.server.getSession()).data,
    'com.atproto.identity.resolveHandle': (await com.atproto.identity.resolveHandle({ handle }))
      .data,
    'com.atproto.repo.createRecord': created.data,
    'com.atproto.repo.getRecord': (
      await com.atproto.repo.getRecord({ repo: handle, collection, rkey })
    ).data,
    'com.atproto.repo.listRecords': (
      await com.atproto.repo.listRecords({ repo, collection, limit: 1 })
    ).data,
  };

  for (const [nsid, answer] of Object.entries(answers)) {
    t.notThrows(() => lexicons.assertValidXrpcOutput(nsid, answer), nsid);
  }
  await t.throwsAsync(com.atproto.repo.getRecord({ repo, collection, rkey: keys[0] ?? '' }), {
    message: /Could not locate record/v,
  });
  await t.throwsAsync(com.atproto.repo.listRecords({ repo, collection, limit: 101 }));
});

const withWebAddress = (url: string) => ({
  baseUrl: `${url}/bluesky`,
  identifier: 'demo.sandbox.test',
  appPassword: 'demo',
  webUrl: `${url}/bluesky`,
});

test('a post’s chosen options are in its record and on the page', async (t) => {
  const { url } = await openSandbox(t);
  const account = await connectBluesky(egressTo(t, url), withWebAddress(url));
  const options = { langs: ['en'], labels: ['nudity'] };
  const files = [{ ...(await pictureFile()), altText: 'A <statue>' }];
  const parts = partsWith(files, 'At the museum').map((part) => Object.assign(part, { options }));
  const { sent } = await publish(blueskyNetwork, openConnection(t, account), parts);

  const page = await readPage(sent[0]?.url ?? '');
  t.regex(page, /<summary>Labelled nudity<\/summary>\s*<p class="text">At the museum<\/p>/v);
  t.regex(page, /<figcaption>A &lt;statue&gt;<\/figcaption>/v);
  t.regex(page, /<li>nudity<\/li>\s*<li>en<\/li>/v);
});

test('a link has a card on the page', async (t) => {
  const { url } = await openSandbox(t);
  const account = await connectBluesky(egressTo(t, url), withWebAddress(url));
  const connection = openConnection(t, account, { downloads: waysOutTo(t, url) });
  const { sent } = await publish(blueskyNetwork, connection, partsOf(`See ${url}/mastodon/@demo`));

  t.is(sent[0]?.warning, undefined);
  const page = await readPage(sent[0]?.url ?? '');
  t.true(page.includes(`<a class="card" href="${url}/mastodon/@demo"`));
  t.true(page.includes('<span>Mastodon · Sandbox</span>'));
});

/** The demo account, and a call that gives the sandbox a directive. */
async function connected(t: ExecutionContext) {
  const { url } = await openSandbox(t);
  const login = { baseUrl: url, identifier: 'demo.sandbox.test', appPassword: 'demo' };
  const account = await connectBluesky(egressTo(t, url), login);
  const order = (directive: string) =>
    fetch(`${url}/control`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ platform: 'bluesky', directive, count: 1 }),
    });
  const file = await videoFile();
  const send = () =>
    publish(blueskyNetwork, openConnection(t, account), partsWith([file], 'A video'));
  return { url, account, order, send };
}

test('a server’s limit for file sizes is stored with the channel', async (t) => {
  const { account } = await connected(t);
  t.like(account.settings, { blobUploadLimit: 40 * 1024 * 1024 });
});

test('the adapter waits for a slow video, and finds the same video a second time', async (t) => {
  const { order, send } = await connected(t);
  await order('slow');
  t.is((await send()).sent[0]?.warning, undefined);
  t.is((await send()).sent[0]?.warning, undefined);
});

test('a video whose processing fails is not published', async (t) => {
  const { order, send } = await connected(t);
  await order('broken');
  t.like(await t.throwsAsync(send()), { code: 'media_refused', accepted: 'no' });
  t.is((await send()).sent[0]?.warning, undefined);
});

test('the video service accepts only a token for its method and this server', async (t) => {
  const { url } = await connected(t);
  const { data } = await (await blueskyClient(url)).com.atproto.server.describeServer();
  const agent = await blueskyClient(url);
  const tokenFor = async (aud: string, lxm: string) =>
    (await agent.com.atproto.server.getServiceAuth({ aud, lxm })).data.token;
  const ask = async (token: string) =>
    fetch(`${url}/xrpc/app.bsky.video.getUploadLimits`, {
      headers: { authorization: `Bearer ${token}` },
    });
  const method = 'app.bsky.video.getUploadLimits';

  t.is((await ask(await tokenFor(data.did, method))).status, 200);
  t.is((await ask(await tokenFor(data.did, 'com.atproto.repo.uploadBlob'))).status, 401);
  t.is((await ask(await tokenFor('did:web:other.example', method))).status, 401);
  t.is((await ask(agent.session?.accessJwt ?? '')).status, 401);
});
