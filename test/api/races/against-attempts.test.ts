import test from 'ava';
import { claimPost } from '../../../activities/claim-post.ts';
import { finalizePost } from '../../../activities/finalize-post.ts';
import { publishChannel } from '../../../activities/publish-channel/publish-channel.ts';
import { attempt } from '../../support/attempt.ts';
import type { Client } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { fakeNetwork, type FakeNetwork } from '../../support/networks.ts';
import { endedPost, fakeChannel, storeChannel } from '../../support/seed.ts';
import { CloseFinish, inRounds } from './race.ts';

const api = sharedApi(test);

async function workspaceOn(network: FakeNetwork) {
  const client = await api.newClient();
  const channel = await fakeChannel(api.punctual, client.workspaceId, network);
  const create = async (minutes: number): Promise<string> => {
    const post = { body: 'x', channel_ids: [channel], schedule_in_minutes: minutes };
    return (await client.post('/posts', post)).body.post.id;
  };
  return { client, channel, create };
}

/** Claims the post, publishes and finalizes it, as its workflow does. @returns what the channel's attempt said. */
async function publish({ workspaceId }: Client, postId: string): Promise<string> {
  const { deps } = api.punctual;
  const claimed = await claimPost(deps, { workspaceId, postId, nowMs: Date.now(), revision: 1 });
  const [target] = claimed.kind === 'go' ? claimed.targets : [];
  if (claimed.kind !== 'go' || !target) {
    return claimed.kind;
  }

  const { postChannelId } = target;
  const send = () => attempt(publishChannel, deps, { workspaceId, postId, postChannelId });
  const made = await send().catch(send); // Temporal repeats an attempt whose intent came after the delete.
  const { revision } = claimed;
  await finalizePost(deps, { workspaceId, postId, revision });
  return made.kind === 'done' ? made.status : made.kind;
}

test('a delete at the due time is confirmed and nothing is sent, or is refused and the post is published', async (t) => {
  const finish = new CloseFinish();
  const network = fakeNetwork();
  let published = 0;
  const prepare = () => workspaceOn(network);
  await inRounds(t, prepare, async ({ client, create }) => {
    const id = await create(0);
    const [deleted, outcome] = await finish.run(
      () => client.delete(`/posts/${id}`),
      () => publish(client, id),
    );
    const isOut = outcome === 'published';
    published += isOut ? 1 : 0;
    finish.finished(isOut ? 'second' : 'first');
    if (deleted.status === 409) {
      t.is(deleted.body.code, 'post_being_sent');
      t.true(isOut, outcome);
      t.is((await client.get(`/posts/${id}`)).body.post.status, 'published');
    } else {
      t.is(deleted.status, 200, JSON.stringify(deleted.body));
      t.is(deleted.body.live.length, isOut ? 1 : 0, 'the answer says what is live');
      t.is((await client.get(`/posts/${id}`)).status, 404);
    }
  });
  t.is(network.live.length, published, 'nothing was sent for a deleted post');
  t.is(network.sends.length, published);
  finish.mustHaveMet(t, 'the delete', 'publishing');
});

test('of a delete and a retry either the post is gone for both, or the retry is cancelled with it', async (t) => {
  const finish = new CloseFinish();
  const network = fakeNetwork();
  const prepare = () => workspaceOn(network);
  await inRounds(t, prepare, async ({ client, channel }) => {
    const id = await endedPost(api.punctual, client, new Map([[channel, 'failed']]));
    const [deleted, retried] = await finish.run(
      () => client.delete(`/posts/${id}`),
      () => client.post(`/posts/${id}/retry`),
    );
    t.is(deleted.status, 200, JSON.stringify(deleted.body));
    t.true(retried.status === 404 || retried.status === 202, JSON.stringify(retried.body));
    finish.finished(retried.status === 404 ? 'first' : 'second');
    t.is(await publish(client, id), 'gone');
  });
  t.is(network.sends.length, 0);
  finish.mustHaveMet(t, 'the delete', 'the retry');
});

// Each round disconnects an account and connects it again for the next one.

test('after a disconnect only the sends that it reported are published', async (t) => {
  const network = fakeNetwork();
  const finish = new CloseFinish();
  const prepare = async () => {
    const client = await api.newClient();
    return { client, connect: () => fakeChannel(api.punctual, client.workspaceId, network) };
  };
  const told = new Set<number>();
  await inRounds(t, prepare, async ({ client, connect }) => {
    const { workspaceId } = client;
    const channel = await connect();
    const request = { body: 'x', channel_ids: [channel], schedule_in_minutes: 0 };
    const postId: string = (await client.post('/posts', request)).body.post.id;
    const { deps } = api.punctual;
    const isOut = (): boolean => network.live.some(({ key }) => key.startsWith(id));
    const rows = await deps.orm.em
      .fork()
      .execute<{ id: string }[]>('select id from post_channels where post_id = ?', [postId]);
    const id = rows[0]?.id ?? '';
    let wasOut = false;

    const [removed, outcome] = await finish.run(
      async () => {
        const reply = await client.delete(`/channels/${channel}`);
        wasOut = isOut();
        return reply;
      },
      async () => {
        await claimPost(deps, { workspaceId, postId, nowMs: Date.now(), revision: 1 });
        const attemptOnce = () =>
          attempt(publishChannel, deps, { workspaceId, postId, postChannelId: id });
        // Temporal repeats an attempt that lost its race.
        return attemptOnce().catch(() => attemptOnce());
      },
    );

    t.is(removed.status, 200, JSON.stringify(removed.body));
    const sending: number = removed.body.still_sending;
    told.add(sending);
    t.true(!isOut() || wasOut || sending === 1, 'later sends were reported');
    const { channels } = (await client.get(`/posts/${postId}`)).body.post;
    const expected = isOut() ? 'published' : undefined;
    t.is(
      channels[0]?.status === 'published' ? 'published' : undefined,
      expected,
      JSON.stringify([channels, outcome]),
    );
    finish.finished(isOut() ? 'second' : 'first');
  });
  t.log(`still_sending was ${[...told].toSorted().join(', ')}`);
  finish.mustHaveMet(t, 'the disconnection', 'publishing');
});

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
