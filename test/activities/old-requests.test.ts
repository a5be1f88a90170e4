import test, { type ExecutionContext } from 'ava';
import { writtenWithinMs } from '../../activities/publish-channel/attempt.ts';
import { timeoutMs } from '../../networks/http.ts';
import { blueskyNetwork } from '../../networks/bluesky/adapter.ts';
import { openNetworks } from '../../networks/registry.ts';
import { beforeTests } from '../support/before-tests.ts';
import { freshDatabase } from '../support/database.ts';
import { fails, fakeNetwork, interrupt, liveTexts } from '../support/networks.ts';
import { postSteps } from '../support/post-steps.ts';

const minute = 60_000;
const database = beforeTests(test, freshDatabase);

/**
 * A post whose first request is stuck in transit while its worker was killed. The network waits as long as Bluesky,
 * where another run of the post has other record keys.
 */
async function stuck(t: ExecutionContext) {
  const network = fakeNetwork(blueskyNetwork.rules.appearsWithinMs);
  const steps = await postSteps(t, { a: network }, database().url);
  const channel_ids = Object.values(steps.channels);
  const post = await steps.create({ body: 'Old', channel_ids, schedule_in_minutes: 0 });
  const go = await steps.claimOrThrow(post);
  const id = go.targets[0]?.postChannelId ?? '';
  const isStuck = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  interrupt(network, 'send', async () => {
    isStuck.resolve();
    await goOn.promise;
  });
  t.teardown(() => goOn.resolve());
  const sending = steps.attempt(post, id).catch(() => undefined);
  await isStuck.promise;
  steps.pass(21_000); // Longer than the heartbeat timeout.
  const arrive = async () => {
    goOn.resolve();
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
  await steps.finalize(post, go, { canceled: true, signalled: 2 });
  await steps.edit(post, { body: 'New', schedule_in_minutes: 0 }).catch(() => undefined);
  for (const { postChannelId } of await targetsOf(steps.claim(post))) {
    await steps.attempt(post, postChannelId);
  }

  network.fates.length = 0;
  await arrive();
  t.deepEqual(liveTexts(network), ['Old']);
});

async function targetsOf(claiming: ReturnType<Awaited<ReturnType<typeof postSteps>>['claim']>) {
  const claim = await claiming;
  return claim.kind === 'go' ? claim.targets : [];
}

test('each request times out before its network may report the post absent', async (t) => {
  for (const { id, rules } of Object.values(await openNetworks({}).load())) {
    t.true(rules.appearsWithinMs >= writtenWithinMs + timeoutMs + 10_000, id);
  }
});
