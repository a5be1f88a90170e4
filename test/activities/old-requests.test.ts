import test, { type ExecutionContext } from 'ava';
import { writtenWithinMs } from '../../activities/publish-channel/intent.ts';
import { timeoutMs } from '../../networks/send-request.ts';
import { bluesky } from '../../networks/bluesky/adapter.ts';
import { openNetworks } from '../../networks/registry.ts';
import { beforeTests } from '../support/before-tests.ts';
import { freshDatabase } from '../support/database.ts';
import { fails, fakeNetwork, interrupt, liveTexts } from '../support/networks.ts';
import { postSteps } from '../support/post-steps.ts';

const minute = 60_000;
const database = beforeTests(test, freshDatabase);

/**
 * A post whose first request has left and is stuck on its way, while its worker was killed. On a network that waits as
 * long as Bluesky does, where another publishing of the post has other record keys.
 */
async function stuck(t: ExecutionContext) {
  const network = fakeNetwork(bluesky.rules.appearsWithinMs);
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
  steps.pass(21_000); // Nobody hears of the worker any more.
  const arrive = async () => {
    goOn.resolve();
    await sending;
  };
  return { network, steps, post, go, id, arrive };
}

test('a post that was cancelled and edited does not go out beside its old text, of which the request was stuck', async (t) => {
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

test('a resend that is refused proves nothing of the request that is stuck', async (t) => {
  const { network, steps, post, go, id, arrive } = await stuck(t);
  network.fates.push(fails('network_unavailable'));
  t.like(await steps.attempt(post, id), { kind: 'again' });
  await steps.cancel(post);
  await steps.finalize(post, go, { canceled: true, heard: 2 });
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

test('a request is over before its network is believed that the post is not there', async (t) => {
  for (const { id, rules } of Object.values(await openNetworks({}).load())) {
    t.true(rules.appearsWithinMs >= writtenWithinMs + timeoutMs + 10_000, id);
  }
});
