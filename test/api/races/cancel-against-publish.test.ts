import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import test, { type ExecutionContext } from 'ava';
import { finalizePost } from '../../../activities/finalize-post.ts';
import { publishChannel } from '../../../activities/publish-channel/publish-channel.ts';
import { newClient, type Client } from '../../support/client.ts';
import { addFakeChannel } from '../../support/seed.ts';
import { fakeNetwork, type FakeNetwork } from '../../support/networks.ts';
import { startApi, type Punctual } from '../../support/punctual.ts';
import { claim } from './claim.ts';
import { CloseFinish } from './close-finish.ts';
import { inRounds } from './rounds.ts';

const logger = new DefaultLogger('ERROR');
const names = ['fake', 'fake2', 'fake3'];

type Shown = { readonly channel_id: string; readonly status: string };

type World = { readonly punctual: Punctual; readonly network: FakeNetwork };

/** @param gate What every send waits for. */
async function world(t: ExecutionContext, gate = () => Promise.resolve()): Promise<World> {
  const network = fakeNetwork();
  const send: FakeNetwork['send'] = async (...args) => {
    await gate();
    return network.send(...args);
  };
  const networks = Object.fromEntries(names.map((name) => [name, { ...network, id: name, send }]));
  return { punctual: await startApi(t, { networks }), network };
}

/** A post that is due now, on three channels. */
async function duePost(punctual: Punctual): Promise<{ client: Client; id: string }> {
  const client = await newClient(punctual);
  const channels = [];
  for (const name of names) {
    channels.push(await addFakeChannel(punctual.deps, client.workspaceId, name));
  }

  const post = { body: 'x', channel_ids: channels, schedule_in_minutes: 0 };
  return { client, id: (await client.post('/posts', post)).body.post.id };
}

const channelsOf = async (client: Client, id: string): Promise<readonly Shown[]> =>
  (await client.get(`/posts/${id}`)).body.post.channels;

const how = (channels: readonly Shown[], status: string): number =>
  channels.filter((channel) => channel.status === status).length;

test('a cancel that meets the start of publishing stops all of the post, and is heard by whoever comes second', async (t) => {
  t.timeout(170_000);
  const { punctual } = await world(t);
  const finish = new CloseFinish();
  await inRounds(async () => {
    const { client, id } = await duePost(punctual);

    const [canceled, claimed] = await finish.run(
      () => client.post(`/posts/${id}/cancel`),
      () => claim(punctual, client.workspaceId, id),
    );

    finish.finished(claimed.kind === 'gone' ? 'first' : 'second');
    t.is(canceled.status, 200, JSON.stringify(canceled.body));
    t.true(claimed.kind === 'gone' || claimed.kind === 'go');
    const { post } = (await client.get(`/posts/${id}`)).body;
    t.like(post, { status: 'draft', scheduled_at: null });
    // Nothing has been sent yet, whoever came first; the answer and the post agree in any case.
    t.deepEqual(canceled.body, { ok: true, id, still_sending: how(post.channels, 'publishing') });
    t.is(canceled.body.still_sending, 0);
    t.is(how(post.channels, 'draft'), names.length);
    t.is((await claim(punctual, client.workspaceId, id)).kind, 'gone');
  });
  t.log(`the cancel came first in ${finish.won.first} rounds, the claim in ${finish.won.second}`);
  t.true(finish.won.first >= 10 && finish.won.second >= 10, JSON.stringify(finish.won));
});

/** As the workflow does: claims the post, then brings it onto its channels, all at once. */
async function publishAll(punctual: Punctual, client: Client, id: string): Promise<boolean> {
  const { workspaceId } = client;
  const claimed = await claim(punctual, workspaceId, id);
  if (claimed.kind !== 'go') {
    return false;
  }

  await Promise.all(
    claimed.targets.map(({ postChannelId }) =>
      new MockActivityEnvironment(undefined, { logger }).run(publishChannel, punctual.deps, {
        workspaceId,
        postId: id,
        postChannelId,
      }),
    ),
  );
  return true;
}

test('a cancel counts exactly the channels that are in the middle of a send, and they finish', async (t) => {
  t.timeout(170_000);
  let answered = Promise.resolve();
  const { punctual } = await world(t, () => answered);
  const finish = new CloseFinish();
  const counted = new Set<number>();
  await inRounds(
    async () => {
      const { client, id } = await duePost(punctual);
      const { promise, resolve } = Promise.withResolvers<void>();
      answered = promise;

      const [canceled] = await finish.run(
        async () => {
          const reply = await client.post(`/posts/${id}/cancel`);
          resolve(); // No send ends before the cancel is answered.
          return reply;
        },
        () => publishAll(punctual, client, id),
      );

      t.is(canceled.status, 200, JSON.stringify(canceled.body));
      const channels = await channelsOf(client, id);
      const stillSending: number = canceled.body.still_sending;
      t.is(how(channels, 'published'), stillSending);
      t.is(how(channels, 'draft'), names.length - stillSending);
      counted.add(stillSending);
      finish.finished(stillSending === 0 ? 'first' : 'second');
    },
    { lanes: 1 },
  );
  t.log(`still_sending was ${[...counted].toSorted().join(', ')}`);
  t.true(finish.won.first >= 10 && finish.won.second >= 10, JSON.stringify(finish.won));
});

test('a cancel while channels finish one by one stops those that have not begun, and the post ends as they did', async (t) => {
  t.timeout(170_000);
  const { punctual, network } = await world(t);
  const finish = new CloseFinish();
  const counted = new Set<number>();
  let published = 0;
  await inRounds(async () => {
    const { client, id } = await duePost(punctual);

    const [canceled] = await finish.run(
      () => client.post(`/posts/${id}/cancel`),
      () => publishAll(punctual, client, id),
    );

    const channels = await channelsOf(client, id);
    const out = how(channels, 'published');
    published += out;
    t.is(out + how(channels, 'draft'), names.length, JSON.stringify(channels));
    if (canceled.status === 409) {
      t.is(canceled.body.code, 'post_not_cancellable');
      t.is(out, names.length, 'a cancel is refused only when every channel is final');
      finish.finished('second');
    } else {
      t.is(canceled.status, 200, JSON.stringify(canceled.body));
      const stillSending: number = canceled.body.still_sending;
      counted.add(stillSending);
      // Those that had finished before the cancel are no longer sending.
      t.true(stillSending <= out, JSON.stringify({ stillSending, channels }));
      finish.finished(out === 0 ? 'first' : 'second');
    }

    const { workspaceId } = client;
    const ended = await finalizePost(punctual.deps, {
      workspaceId,
      postId: id,
      revision: 2,
      canceled: true,
    });
    t.is(ended.status, out === names.length ? 'published' : 'draft');
    t.is((await client.get(`/posts/${id}`)).body.post.status, ended.status);
  });
  t.is(network.live.length, published, 'what is live is what the channels say');
  t.is(new Set(network.live.map(({ key }) => key)).size, published, 'nothing went out twice');
  t.log(`still_sending was ${[...counted].toSorted().join(', ')}; ${published} channels got it`);
  t.true(counted.has(0) && published > 0);
});
