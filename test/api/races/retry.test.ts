import test from 'ava';
import { newClient } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { storeChannel, endedPost } from '../../support/seed.ts';
import { inRounds, rounds } from './rounds.ts';

const count = async (sql: string, run: (sql: string) => Promise<{ n: number }[]>) =>
  (await run(sql))[0]?.n;

test('of two retries at once one is taken and the other is told that nothing is left to retry, in each of 200 rounds', async (t) => {
  t.timeout(170_000);
  const punctual = await startApi(t);
  await inRounds(async (round) => {
    const client = await newClient(punctual);
    const { workspaceId } = client;
    const out = await storeChannel(punctual, workspaceId);
    const failed = await storeChannel(punctual, workspaceId);
    const outcomes = new Map([[failed, 'failed'] as const, [out, 'published'] as const]);
    // In every other round nothing of it went out.
    const id = await endedPost(
      punctual,
      client,
      round % 2 === 0 ? outcomes : new Map([[failed, 'failed']]),
    );

    const replies = await Promise.all([1, 2].map(() => client.post(`/posts/${id}/retry`)));

    const [taken, refused] = replies.toSorted((a, b) => a.status - b.status);
    t.is(taken?.status, 202, JSON.stringify(taken?.body));
    t.deepEqual(taken?.body, { id, retrying: [failed] });
    t.is(refused?.status, 409, JSON.stringify(refused?.body));
    t.is(refused?.body.code, 'nothing_to_retry');
    const { post } = (await client.get(`/posts/${id}`)).body;
    t.is(post.status, 'publishing');
    t.is(post.summary.pending, 1);
    t.is(post.summary.published, round % 2 === 0 ? 1 : 0);
  });

  const run = (sql: string) => punctual.orm.em.fork().execute<{ n: number }[]>(sql);
  t.is(await count('select count(*)::int as n from posts where run = 2', run), rounds);
  t.is(await count('select count(*)::int as n from posts where run > 2', run), 0);
});
