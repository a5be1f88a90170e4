import test from 'ava';
import { sharedApi } from '../../support/kit.ts';
import { endedPost, storeChannel } from '../../support/seed.ts';
import { CloseFinish, inRounds } from './race.ts';

const api = sharedApi(test);

type Ended = { readonly run: number; readonly events: number };

/** A workspace with two channels. */
async function twoChannels() {
  const client = await api.newClient();
  const store = () => storeChannel(api.punctual, client.workspaceId);
  return { client, channels: [await store(), await store()] as const };
}

/** The run of a post, and the number of its events. */
async function ended(postId: string): Promise<Ended | undefined> {
  const sql = `select run, (select count(*)::int from events e where e.post_id = p.id and e.run is not null) as events
               from posts p where id = ?`;
  return (await api.punctual.orm.em.fork().execute<Ended[]>(sql, [postId]))[0];
}

test('of two concurrent retries one is accepted and the other refused, in each round', async (t) => {
  await inRounds(t, twoChannels, async ({ client, channels: [failed, out] }, round) => {
    const outcomes = new Map([[failed, 'failed'] as const, [out, 'published'] as const]);
    // Every other round has no published channel.
    const isPartial = round % 2 === 0;
    const id = await endedPost(
      api.punctual,
      client,
      isPartial ? outcomes : new Map([[failed, 'failed']]),
    );

    const replies = await Promise.all([1, 2].map(() => client.post(`/posts/${id}/retry`)));

    const [taken, refused] = replies.toSorted((a, b) => a.status - b.status);
    t.is(taken?.status, 202, JSON.stringify(taken?.body));
    t.like(taken?.body, { id, retrying: [failed] });
    t.is(refused?.status, 409, JSON.stringify(refused?.body));
    t.is(refused?.body.code, 'nothing_to_retry');
    const { post } = (await client.get(`/posts/${id}`)).body;
    t.is(post.status, 'publishing');
    t.is(post.summary.pending, 1);
    t.is(post.summary.published, isPartial ? 1 : 0);
    t.is((await ended(id))?.run, 2);
  });
});

/** A post that failed on one channel and is unconfirmed on the other. */
async function doubtfulPost({ client, channels }: Awaited<ReturnType<typeof twoChannels>>) {
  const [failed, unconfirmed] = channels;
  const outcomes = new Map([[failed, 'failed'] as const, [unconfirmed, 'unconfirmed'] as const]);
  const id = await endedPost(api.punctual, client, outcomes);
  const settle = (url: string | null) =>
    client.post(`/posts/${id}/settle`, { channel_id: unconfirmed, url });
  // Each post has its own URL.
  const there = `https://social.test/@ana/${id}`;
  return { client, id, failed, unconfirmed, settle, there };
}

test('of two different concurrent answers the later one corrects the other, with an event each', async (t) => {
  const finish = new CloseFinish();
  await inRounds(t, twoChannels, async (lane) => {
    const { client, id, settle, there } = await doubtfulPost(lane);

    const [found, absent] = await finish.run(
      () => settle(there),
      () => settle(null),
    );

    t.deepEqual([found.status, absent.status], [200, 200], JSON.stringify(absent.body));
    const { post } = (await client.get(`/posts/${id}`)).body;
    const isFoundLast = post.summary.published === 1;
    finish.finished(isFoundLast ? 'second' : 'first');
    t.like(post, { status: 'failed', summary: { published: isFoundLast ? 1 : 0 } });
    t.deepEqual(await ended(id), { run: 3, events: 2 });
  });
  finish.mustHaveMet(t, '"it is there"', '"it is not there"');
});

test('a retry during "it is not there" sends the channel too, or leaves it to the next retry', async (t) => {
  const finish = new CloseFinish();
  await inRounds(t, twoChannels, async (lane) => {
    const { client, id, failed, unconfirmed, settle } = await doubtfulPost(lane);

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
    // The end before the retry is an event; the next end is still to come.
    t.deepEqual(await ended(id), isFirst ? { run: 3, events: 1 } : { run: 2, events: 0 });
  });
  finish.mustHaveMet(t, 'the settling', 'the retry');
});
