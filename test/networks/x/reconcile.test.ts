import test from 'ava';
import { idBefore } from '../../../networks/x/find-post.ts';
import { NetworkError } from '../../../networks/network.ts';
import { pictureFile } from '../files.ts';
import { nextStep, partsOf, partsWith, publish, sendStep, throughDatabase } from '../publish.ts';
import { x } from './bench.ts';
import { onBrokenLine, order } from './broken-line.ts';

const timeline = { method: 'GET', path: /\/tweets\?/ };

// Duplicates.

test('a text that X refuses as a duplicate, and does not show, is a duplicate', async (t) => {
  const { sandbox, connection } = await onBrokenLine(t);
  await order(sandbox, 'duplicate');
  const error = await t.throwsAsync(publish(x, connection, partsOf('Again')), {
    instanceOf: NetworkError,
  });
  t.like(error, { code: 'duplicate', accepted: 'no', existing: undefined });
});

test('a live post that an earlier lookup missed is returned when X refuses it as a duplicate', async (t) => {
  const { connection, posts } = await onBrokenLine(t);
  const parts = partsOf('Once, at https://example.com');
  const prepared = throughDatabase(await x.prepare(connection, parts, Date.now()));
  const step = nextStep(x, prepared, []);
  const missed = await x.reconcile(connection, step);
  const noted = missed.kind === 'absent' ? (missed.data ?? []) : [];
  const sent = await sendStep(x, connection, step);

  const doubted = prepared.map((part, index) =>
    Object.assign({}, part, { data: noted[index] ?? part.data }),
  );
  const again = sendStep(x, connection, nextStep(x, throughDatabase(doubted), []));
  const error = await t.throwsAsync(again, { instanceOf: NetworkError });
  t.like(error, { code: 'duplicate', accepted: 'no', existing: sent });
  t.is((await posts()).length, 1);
});

test('an equal post from another client is a duplicate, and never becomes ours', async (t) => {
  const { connection } = await onBrokenLine(t);
  await publish(x, connection, partsOf('By hand'));

  const error = await t.throwsAsync(publish(x, connection, partsOf('By hand')), {
    instanceOf: NetworkError,
  });
  t.like(error, { code: 'duplicate', accepted: 'no', existing: undefined });
});

// Lookups.

test('there is no lookup before a post, and a lookup reads one page', async (t) => {
  const { proxy, connection } = await onBrokenLine(t);
  const { prepared } = await publish(x, connection, partsOf('Hi'));
  t.deepEqual(
    proxy.seen.map(({ method }) => method),
    ['POST'],
  );
  await x.reconcile(connection, nextStep(x, prepared, []));
  t.is(proxy.seen.length, 2);
  t.true(proxy.seen[1]?.path.includes('since_id='));
});

test('a lost post with a file is found although X does not name its files', async (t) => {
  const { proxy, account, connection } = await onBrokenLine(t);
  const parts = partsWith([await pictureFile()], 'With a picture');
  const { prepared, sent } = await publish(x, connection, parts);
  const since = '?post.fields=attachments,conversation_id,entities';
  const answer = await fetch(`${account.baseUrl}/2/users/${account.remoteId}/tweets${since}`, {
    headers: { authorization: 'Bearer demo' },
  });
  const body = (await answer.text()).replace(/"media_keys":\[[^\]]*\]/v, '"media_keys":null');
  t.true(body.includes('"media_keys":null'));
  proxy.plan(timeline, { kind: 'overruled', answer: { status: 200, body } });
  t.like(await x.reconcile(connection, nextStep(x, prepared, [])), {
    kind: 'found',
    candidates: [sent],
  });
});

test('ids encode the time as X’s do', (t) => {
  // An example from X's documentation, of a post from this second.
  const [id, madeMs] = [1_212_092_628_029_698_048n, Date.UTC(2019, 11, 31, 19, 26, 16)];
  t.true(BigInt(idBefore(madeMs)) < id);
  t.true(BigInt(idBefore(madeMs + 1000)) > id);
  t.is(idBefore(0), '1');
});

test('a lookup whose answer is incomplete proves nothing', async (t) => {
  const { proxy, connection } = await onBrokenLine(t);
  const { prepared } = await publish(x, connection, partsOf('Hi'));
  const step = nextStep(x, prepared, []);
  for (const body of [
    JSON.stringify({ data: [{ id: '5', text: 'Hi' }] }),
    JSON.stringify({ data: [{ id: 'x', text: 'Hi', conversation_id: '5' }] }),
    '<html>',
  ]) {
    proxy.plan(timeline, { kind: 'overruled', answer: { status: 200, body } });
    const error = await t.throwsAsync(x.reconcile(connection, step), { instanceOf: NetworkError });
    t.like(error, { code: 'network_unavailable', accepted: 'unknown' });
  }
});

test('an account with more new posts than a lookup may read stays unconfirmed', async (t) => {
  const { proxy, connection } = await onBrokenLine(t);
  const { prepared } = await publish(x, connection, partsOf('Hi'));
  const body = JSON.stringify({ data: [], meta: { next_token: 'more' } });
  proxy.plan(timeline, { kind: 'overruled', answer: { status: 200, body } });
  proxy.plan(timeline, { kind: 'overruled', answer: { status: 200, body } });
  const attempt = x.reconcile(connection, nextStep(x, prepared, []));
  t.like(await t.throwsAsync(attempt), { code: 'unconfirmed', accepted: 'unknown' });
});
