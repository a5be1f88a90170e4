import test, { type ExecutionContext } from 'ava';
import { writtenWithinMs } from '../../activities/publish-channel/attempt.ts';
import { blueskyNetwork } from '../../networks/bluesky/adapter.ts';
import { timeoutMs } from '../../networks/http.ts';
import { openNetworks } from '../../networks/registry.ts';
import { fails, fakeNetwork, hold, liveTexts } from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';
import type { PostSteps } from '../support/post-steps.ts';

const minute = 60_000;
const { newChannel, newSteps } = onOneDatabase(test);

/**
 * A post whose first request is stuck in transit while its worker was killed. The network waits as long as Bluesky,
 * where another run of the post has other record keys.
 */
async function stuck(t: ExecutionContext) {
  const network = fakeNetwork(blueskyNetwork.rules.appearsWithinMs);
  const steps = await newSteps(t, { a: network });
  const { post, go, id } = await steps.begin({ body: 'Old' });
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
