import test, { type ExecutionContext } from 'ava';
import { createIntent } from '../../activities/publish-channel/intent.ts';
import { NetworkError } from '../../networks/network.ts';
import { beforeTests } from '../support/before-tests.ts';
import { freshDatabase } from '../support/database.ts';
import { fakeNetwork, interrupt, liveTexts } from '../support/networks.ts';
import { postSteps } from '../support/post-steps.ts';

const minute = 60_000;
const database = beforeTests(test, freshDatabase);

/** A network whose request is not written when the try may not create any more: see `networks/send-request.ts`. */
function askingNetwork() {
  const network = fakeNetwork(minute);
  const { send } = network;
  return Object.assign(network, {
    send: async (...args: Parameters<typeof send>) => {
      if (args[0].mayCreate?.() === false) {
        throw new NetworkError('network_unavailable', 'Too late.', { taken: 'no' });
      }

      return send(...args);
    },
  });
}

/** A post whose first try has committed its intent, and is stopped before a byte of its request has left. */
async function stopped(t: ExecutionContext) {
  const network = askingNetwork();
  const steps = await postSteps(t, { a: network }, database().url);
  const channel_ids = Object.values(steps.channels);
  const post = await steps.create({ body: 'Once', channel_ids, schedule_in_minutes: 0 });
  const go = await steps.claimOrThrow(post);
  const id = go.targets[0]?.postChannelId ?? '';
  const isStopped = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  interrupt(network, 'send', async () => {
    isStopped.resolve();
    await goOn.promise;
  });
  const trying = steps.attempt(post, id);
  trying.catch(() => undefined);
  await isStopped.promise;
  const goesOn = () => {
    goOn.resolve();
    return trying;
  };
  return { network, steps, post, go, id, goesOn };
}

test('a worker that is stopped between its intent and its request sends no second copy when it goes on', async (t) => {
  const { network, steps, post, go, id, goesOn } = await stopped(t);
  steps.pass(20_000);
  t.like(await steps.attempt(post, id), { kind: 'again' }); // The next one looks, and waits.
  steps.pass(minute);
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'published' });
  await steps.finalize(post, go);

  await t.throwsAsync(goesOn(), { name: 'SupersededError' });
  t.deepEqual(liveTexts(network), ['Once']);
  t.is((await steps.show(post)).status, 'published');
});

test('a worker that goes on before anybody took over leaves the post to the next try', async (t) => {
  const { network, steps, post, id, goesOn } = await stopped(t);
  steps.pass(20_000);
  t.like(await goesOn(), { kind: 'again', code: 'network_unavailable' });
  t.deepEqual(network.live, []);

  // Nothing left, so there is nothing to look for and to wait for.
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'published' });
  t.deepEqual(liveTexts(network), ['Once']);
});

for (const clock of ['monotonic', 'wall'] as const) {
  test(`an intent is old when the ${clock} clock says so, whatever the other one says`, (t) => {
    const clocks = { monotonic: 5000, wall: 7000 };
    const intent = createIntent({ now: () => new Date(clocks.wall) }, () => clocks.monotonic);
    t.false(intent.isYoung());
    intent.begin();
    t.true(intent.isYoung());
    clocks[clock] += 10_000;
    t.true(intent.isYoung());
    clocks[clock] += 1;
    t.false(intent.isYoung());
    clocks[clock === 'wall' ? 'monotonic' : 'wall'] -= minute;
    t.false(intent.isYoung());
    intent.begin();
    t.true(intent.isYoung());
  });
}
