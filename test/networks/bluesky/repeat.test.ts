import { bluesky } from '../../../networks/bluesky/index.ts';
import type { FrozenPart } from '../../../networks/network.ts';
import { lossyProxy } from '../../support/lossy-proxy.ts';
import { needs } from '../../support/needs.ts';
import { openConnection } from '../connection.ts';
import { nextStep, partsOf, publish, sendStep, throughDatabase } from '../publish.ts';
import { recordsOf } from './bench.ts';
import { connected } from './connected.ts';

const test = needs('pds');

const collection = 'app.bsky.feed.post';

const frozenOf = ({ data }: FrozenPart) =>
  data as { rkey: string; cid: string; record: { text: string } };

test('the server gives every part the key and the hash that were computed before', async (t) => {
  const { account, person } = await connected(t);
  const parts = partsOf('One', 'Two #tag', 'Three');
  const { frozen } = await publish(bluesky, openConnection(t, account), parts);

  const live = await recordsOf(person.agent);
  t.deepEqual(
    live.map(({ uri, cid }) => ({ rkey: uri.split('/').at(-1), cid })),
    frozen.map(frozenOf).map(({ rkey, cid }) => ({ rkey, cid })),
  );
  t.deepEqual(
    live.map(({ record }) => record.reply?.root.cid),
    [undefined, live[0]?.cid, live[0]?.cid],
  );
});

test('a thread that is sent again is there once, and the answer is that of the first time', async (t) => {
  const { account, person } = await connected(t);
  const connection = openConnection(t, account);
  const { frozen, sent } = await publish(bluesky, connection, partsOf('One', 'Two'));

  const again = await sendStep(bluesky, connection, nextStep(bluesky, throughDatabase(frozen), []));
  t.deepEqual(again, sent);
  t.is((await recordsOf(person.agent)).length, 2);
});

test('equal texts in two posts are two posts, each found as itself', async (t) => {
  const { account, person } = await connected(t);
  const connection = openConnection(t, account);
  const first = await publish(bluesky, connection, partsOf('Same'));
  const second = await publish(bluesky, connection, partsOf('Same'));

  t.is((await recordsOf(person.agent)).length, 2);
  for (const { frozen, sent } of [first, second]) {
    const finding = await bluesky.reconcile(connection, nextStep(bluesky, frozen, []));
    t.deepEqual(finding, { kind: 'found', candidates: [sent] });
  }
});

test('a thread whose owner deleted a part since was published', async (t) => {
  const { account, person } = await connected(t);
  const connection = openConnection(t, account);
  const { frozen, sent } = await publish(bluesky, connection, partsOf('One', 'Two'));
  await person.agent.deletePost(sent[0]?.remoteId ?? '');

  const finding = await bluesky.reconcile(connection, nextStep(bluesky, frozen, []));
  t.deepEqual(finding, { kind: 'found', candidates: [sent] });
});

test('a post that is not the one we froze is left to a person', async (t) => {
  const { account, person } = await connected(t);
  const connection = openConnection(t, account);
  const { frozen } = await publish(bluesky, connection, partsOf('Original'));
  const [{ rkey, record }] = frozen.map(frozenOf) as [ReturnType<typeof frozenOf>];
  await person.agent.com.atproto.repo.putRecord({
    repo: person.did,
    collection,
    rkey,
    record: { ...record, text: 'Edited' },
  });

  const step = nextStep(bluesky, frozen, []);
  for (const attempt of [
    bluesky.reconcile(connection, step),
    sendStep(bluesky, connection, step),
  ]) {
    t.like(await t.throwsAsync(attempt), { code: 'unconfirmed', taken: 'unknown' });
  }
});

test('a refused thread leaves none of its parts behind', async (t) => {
  const { account, person } = await connected(t);
  const parts = partsOf('Fine', 'x'.repeat(301), 'Fine too');
  const attempt = publish(bluesky, openConnection(t, account), parts);
  t.like(await t.throwsAsync(attempt), { code: 'content_refused', taken: 'no' });
  t.deepEqual(await recordsOf(person.agent), []);
});

test('when nobody can tell after a refusal, the outcome stays open', async (t) => {
  const { account } = await connected(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const creates = { method: 'POST', path: /applyWrites/ };
  proxy.plan(creates, { kind: 'refused', answer: { status: 500 } });
  proxy.plan({ method: 'GET', path: /getRecord/ }, { kind: 'refused', answer: { status: 500 } });
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const attempt = publish(bluesky, connection, partsOf('Hi'));
  t.like(await t.throwsAsync(attempt), { code: 'network_unavailable', taken: 'unknown' });
});
