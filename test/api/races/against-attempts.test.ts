import test from 'ava';
import { claimPost } from '../../../activities/claim-post.ts';
import { finalizePost } from '../../../activities/finalize-post.ts';
import { publishChannel } from '../../../activities/publish-channel/publish-channel.ts';
import { attempt } from '../../support/attempt.ts';
import type { Client } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { fakeNetwork, type FakeNetwork } from '../../support/networks.ts';
import { endedPost, fakeChannel } from '../../support/seed.ts';
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
