import test, { type ExecutionContext } from 'ava';
import { newClient } from '../../support/client.ts';
import { startApi, type Punctual } from '../../support/punctual.ts';
import { storeChannel, endedPost } from '../../support/seed.ts';
import { CloseFinish } from './close-finish.ts';
import { inRounds } from './rounds.ts';

const there = 'https://social.test/@ana/1';

/** A post that failed on one channel, and of which nobody knows whether the other has it. */
async function doubtfulPost(punctual: Punctual) {
  const client = await newClient(punctual);
  const failed = await storeChannel(punctual, client.workspaceId);
  const unconfirmed = await storeChannel(punctual, client.workspaceId);
  const outcomes = new Map([[failed, 'failed'] as const, [unconfirmed, 'unconfirmed'] as const]);
  const id = await endedPost(punctual, client, outcomes);
  const settle = (url: string | null) =>
    client.post(`/posts/${id}/settle`, { channel_id: unconfirmed, url });
  return { client, id, failed, unconfirmed, settle };
}

type Ended = { readonly run: number; readonly events: number };

const ended = async ({ orm }: Punctual, id: string): Promise<Ended | undefined> =>
  (
    await orm.em.fork().execute<Ended[]>(
      `select run, (select count(*)::int from events e where e.post_id = p.id) as events
       from posts p where id = ?`,
      [id],
    )
  )[0];

function bothWon(t: ExecutionContext, { won }: CloseFinish): void {
  t.log(JSON.stringify(won));
  t.true(won.first >= 10 && won.second >= 10, JSON.stringify(won));
}

test('of two answers at once that differ one is taken, and there is one event', async (t) => {
  t.timeout(170_000);
  const punctual = await startApi(t);
  const finish = new CloseFinish();
  await inRounds(async () => {
    const { client, id, settle } = await doubtfulPost(punctual);

    const [found, absent] = await finish.run(
      () => settle(there),
      () => settle(null),
    );

    const isFound = found.status === 200;
    finish.finished(isFound ? 'first' : 'second');
    t.deepEqual([found.status, absent.status], isFound ? [200, 409] : [409, 200]);
    t.is((isFound ? absent : found).body.code, 'nothing_to_settle');
    const { post } = (await client.get(`/posts/${id}`)).body;
    t.like(post, { status: 'failed', summary: { published: isFound ? 1 : 0 } });
    t.deepEqual(await ended(punctual, id), { run: 2, events: 1 });
  });
  bothWon(t, finish);
});

test('the same answer twice at once is taken once and told twice', async (t) => {
  t.timeout(170_000);
  const punctual = await startApi(t);
  await inRounds(async (round) => {
    const { id, settle } = await doubtfulPost(punctual);
    const answer = round % 2 === 0 ? there : null;
    const replies = await Promise.all([settle(answer), settle(answer)]);
    t.deepEqual(
      replies.map(({ status }) => status),
      [200, 200],
    );
    t.deepEqual(replies[0]?.body, replies[1]?.body);
    t.deepEqual(await ended(punctual, id), { run: 2, events: 1 });
  });
});

test('a retry that meets "it is not there" sends the channel with the others, or leaves it to the next retry', async (t) => {
  t.timeout(170_000);
  const punctual = await startApi(t);
  const finish = new CloseFinish();
  await inRounds(async () => {
    const { client, id, failed, unconfirmed, settle } = await doubtfulPost(punctual);

    const [settled, retried] = await finish.run(
      () => settle(null),
      () => client.post(`/posts/${id}/retry`),
    );

    t.deepEqual([settled.status, retried.status], [200, 202], JSON.stringify(settled.body));
    const isFirst = retried.body.retrying.length === 2;
    finish.finished(isFirst ? 'first' : 'second');
    const sent = isFirst ? [failed, unconfirmed] : [failed];
    t.deepEqual(new Set(retried.body.retrying), new Set(sent));
    const { post } = (await client.get(`/posts/${id}`)).body;
    t.like(post, { status: 'publishing', summary: { pending: sent.length } });
    // The end that it had before the retry is an event; its next end is still to come.
    t.deepEqual(await ended(punctual, id), isFirst ? { run: 3, events: 1 } : { run: 2, events: 0 });
  });
  bothWon(t, finish);
});
