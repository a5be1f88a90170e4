import { lexicons, RichText } from '@atproto/api';
import { cidForLex } from '@atproto/lex-cbor';
import { jsonToLex } from '@atproto/lex-json';
import test from 'ava';
import { blueskyClient, openSandbox } from './open-sandbox.ts';

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
