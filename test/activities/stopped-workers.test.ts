import test, { type ExecutionContext } from 'ava';
import { createIntent } from '../../activities/publish-channel/attempt.ts';
import { NetworkError } from '../../networks/network.ts';
import { fakeNetwork, hold, liveTexts } from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';

const minute = 60_000;
const { newSteps } = onOneDatabase(test);

/** A network that checks `mayCreate` right before the request, as `networks/http.ts` does. */
function askingNetwork() {
  const network = fakeNetwork(minute);
  const { send } = network;
  return Object.assign(network, {
    send: async (...args: Parameters<typeof send>) => {
      if (args[0].mayCreate?.() === false) {
        throw new NetworkError('network_unavailable', 'Too late.', { accepted: 'no' });
      }

      return send(...args);
    },
  });
}

/** A post whose first attempt has committed its intent and is suspended before its request leaves. */
async function stopped(t: ExecutionContext) {
  const network = askingNetwork();
  const steps = await newSteps(t, { a: network });
  const { post, go, id } = await steps.begin({ body: 'Once' });
  const { isHeld, release } = hold(network, 'send');
  const trying = steps.attempt(post, id);
  trying.catch(() => undefined);
  await isHeld;
  const goesOn = () => {
    release();
    return trying;
  };
  return { network, steps, post, go, id, goesOn };
}

test('a worker that is suspended between its intent and its request sends no second copy when it resumes', async (t) => {
  const { network, steps, post, go, id, goesOn } = await stopped(t);
  steps.pass(20_000);
  t.like(await steps.attempt(post, id), { kind: 'again' }); // The next attempt reconciles and waits.
  steps.pass(minute);
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'published' });
  await steps.finalize(post, go);

  await t.throwsAsync(goesOn(), { name: 'SupersededError' });
  t.deepEqual(liveTexts(network), ['Once']);
  t.is((await steps.show(post)).status, 'published');
});

test('a worker that resumes before another one took over leaves the post to the next attempt', async (t) => {
  const { network, steps, post, id, goesOn } = await stopped(t);
  steps.pass(20_000);
  t.like(await goesOn(), { kind: 'again', code: 'network_unavailable' });
  t.deepEqual(network.live, []);

  // No request left, so the next attempt sends at once, without a reconcile.
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'published' });
  t.deepEqual(liveTexts(network), ['Once']);
});

for (const clock of ['monotonic', 'wall'] as const) {
  test(`an intent expires when the ${clock} clock says so, whatever the other one says`, (t) => {
    const clocks = { monotonic: 5000, wall: 7000 };
    const intent = createIntent({ now: () => new Date(clocks.wall) }, () => clocks.monotonic);
    t.false(intent.isFresh());
    intent.begin();
    t.true(intent.isFresh());
    clocks[clock] += 10_000;
    t.true(intent.isFresh());
    clocks[clock] += 1;
    t.false(intent.isFresh());
    clocks[clock === 'wall' ? 'monotonic' : 'wall'] -= minute;
    t.false(intent.isFresh());
    intent.begin();
    t.true(intent.isFresh());
  });
}
