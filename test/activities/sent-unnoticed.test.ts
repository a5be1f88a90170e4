import { CancelledFailure } from '@temporalio/common';
import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import { writtenWithinMs } from '../../activities/publish-channel/attempt.ts';
import { blueskyNetwork } from '../../networks/bluesky/adapter.ts';
import { timeoutMs } from '../../networks/http.ts';
import { NetworkError } from '../../networks/network.ts';
import { openNetworks } from '../../networks/registry.ts';
import {
  fails,
  fakeNetwork,
  hold,
  interrupt,
  liveTexts,
  type FakeNetwork,
} from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';
import type { PostSteps } from '../support/post-steps.ts';

const minute = 60_000;
const hour = 60 * minute;
const { newChannel, newSteps } = onOneDatabase(test);

// A post is live but its channel does not show it: a worker died before the update, or the database was restored.

async function claimed(t: ExecutionContext, network: FakeNetwork) {
  const steps = await newSteps(t, { a: network });
  const channelIds = Object.values(steps.channels);
  const post = await steps.create({
    body: 'Hello',
    channel_ids: channelIds,
    schedule_in_minutes: 0,
  });
  const go = await steps.claimOrThrow(post);
  return { steps, post, go, id: go.targets[0]?.postChannelId ?? '' };
}

/** An attempt whose worker dies after the ledger recorded the part as sent. */
async function sendUnnoticed(
  t: ExecutionContext,
  steps: PostSteps,
  network: FakeNetwork,
  post: string,
  id: string,
) {
  const { send } = network;
  network.send = async (...args) => {
    network.send = send;
    await send(...args);
    throw new CancelledFailure('The worker is gone.');
  };
  await t.throwsAsync(steps.attempt(post, id));
  const [live] = network.live;
  await steps.deps.orm.em
    .fork()
    .execute(
      `update post_parts set state = 'sent', remote_id = ?, url = ? where post_channel_id = ?`,
      [live?.sent.remoteId, live?.sent.url, id],
    );
}

test('a cancelled post that was live before its worker died ends as published, even a day later', async (t) => {
  const network = fakeNetwork();
  const { steps, post, go, id } = await claimed(t, network);
  await sendUnnoticed(t, steps, network, post, id);
  t.is(await steps.cancel(post), 1);
  steps.pass(25 * hour);

  t.is((await steps.finalize(post, go)).end, null);
  const again = await steps.claimOrThrow(post);
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'published' });
  t.is((await steps.finalize(post, again)).status, 'published');
  t.is(network.live.length, 1);
});

for (const canceled of [false, true]) {
  test(`an attempt that hung and then failed does not overwrite a post that another one has sent${canceled ? ' and that was cancelled' : ''}`, async (t) => {
    const network = fakeNetwork();
    const { steps, post, id } = await claimed(t, network);
    const [hung, hang] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    interrupt(network, 'upload', async () => {
      hung.resolve();
      await hang.promise;
      throw new NetworkError('media_refused', 'No.', { accepted: 'no' });
    });
    const first = steps.attempt(post, id);
    await hung.promise;
    await sendUnnoticed(t, steps, network, post, id);
    hang.resolve();
    await t.throwsAsync(first, { name: 'SupersededError' });
    t.is((await steps.show(post)).channels[0]?.status, 'publishing');

    if (canceled) {
      t.is(await steps.cancel(post), 1);
    }

    t.like(await steps.attempt(post, id), { kind: 'done', status: 'published' });
    t.is(network.live.length, 1);
  });
}

/**
 * A post whose first request is stuck in transit while its worker was killed. The network waits as long as Bluesky,
 * where another run of the post has other record keys.
 */
async function stuck(t: ExecutionContext) {
  const network = fakeNetwork(blueskyNetwork.rules.appearsWithinMs);
  const steps = await newSteps(t, { a: network });
  const channel_ids = Object.values(steps.channels);
  const post = await steps.create({ body: 'Old', channel_ids, schedule_in_minutes: 0 });
  const go = await steps.claimOrThrow(post);
  const id = go.targets[0]?.postChannelId ?? '';
  const { isHeld, release } = hold(network, 'send');
  t.teardown(release);
  const sending = steps.attempt(post, id).catch(() => undefined);
  await isHeld;
  steps.pass(21_000); // Longer than the heartbeat timeout.
  const arrive = async () => {
    release();
    await sending;
  };
  return { network, steps, post, go, id, arrive };
}

test('an edited post does not go out next to its old text, whose request was stuck', async (t) => {
  const { network, steps, post, id, arrive } = await stuck(t);
  t.is(await steps.cancel(post), 1);
  await steps.edit(post, { body: 'New', schedule_in_minutes: 0 });
  const again = await steps.claimOrThrow(post);
  t.like(await steps.attempt(post, id), { kind: 'again' });
  t.deepEqual(network.live, []);
  await arrive();

  steps.pass(minute);
  await steps.attempt(post, id);
  t.is((await steps.finalize(post, again)).status, 'published');
  t.deepEqual(liveTexts(network), ['Old']);
  t.is((await steps.show(post)).channels[0]?.body, 'Old');
});

test('a refused resend proves nothing about the stuck request', async (t) => {
  const { network, steps, post, go, id, arrive } = await stuck(t);
  network.fates.push(fails('network_unavailable'));
  t.like(await steps.attempt(post, id), { kind: 'again' });
  await steps.cancel(post);
  await steps.finalize(post, go);
  await steps.edit(post, { body: 'New', schedule_in_minutes: 0 }).catch(() => undefined);
  for (const { postChannelId } of await targetsOf(steps.claim(post))) {
    await steps.attempt(post, postChannelId);
  }

  network.fates.length = 0;
  await arrive();
  t.deepEqual(liveTexts(network), ['Old']);
});

async function targetsOf(claiming: ReturnType<PostSteps['claim']>) {
  const claim = await claiming;
  return claim.kind === 'go' ? claim.targets : [];
}

test('each request times out before its network may report the post absent', async (t) => {
  for (const { id, rules } of Object.values(await openNetworks({}).load())) {
    t.true(rules.appearsWithinMs >= writtenWithinMs + timeoutMs + 10_000, id);
  }
});

test('a post whose network answers with the id of another one is looked for, and nobody is told of a fault here', async (t) => {
  const network = fakeNetwork();
  const channel = await newChannel(t, network);
  const lines: string[] = [];
  const worker = channel.newWorker({
    log: pino({ level: 'error' }, { write: (line: string) => void lines.push(line) }),
  });
  await (await channel.newPost(['First'])).attempt();
  const second = await channel.newPost(['Second']);
  const { send } = network;
  network.send = async (...args) => {
    await send(...args);
    return network.live.slice(0, 1).map(({ sent }) => sent);
  };

  t.like(await second.attempt(worker), { kind: 'again', code: 'network_unavailable' });
  t.deepEqual(lines, []);
  channel.pass(minute);
  t.like(await second.attempt(worker), { kind: 'done', status: 'published' });
  t.is((await second.row()).url, network.live[1]?.sent.url ?? null);
  t.is(network.live.length, 2);
});

test('the URL that a network gives is stored as browsers write it', async (t) => {
  const network = fakeNetwork();
  const { send } = network;
  network.send = async (...args) => {
    const [sent] = await send(...args);
    return [{ remoteId: sent?.remoteId ?? '', url: 'https://a.example/"><b>\u202e' }];
  };
  const post = await (await newChannel(t, network)).newPost(['Hello']);
  await post.attempt();
  t.is((await post.row()).url, 'https://a.example/%22%3E%3Cb%3E%E2%80%AE');
});
