import test, { type ExecutionContext } from 'ava';
import { cannotTell, fails, fakeNetwork, type FakeNetwork } from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';

const { newSteps } = onOneDatabase(test);
const thread = ['One', 'Two', 'Three'];

/** A thread on one channel that ended after its first part. */
async function endedMidway(t: ExecutionContext, how: (network: FakeNetwork) => void) {
  const network = fakeNetwork();
  const steps = await newSteps(t, { a: network });
  const channel = steps.channels['a'] ?? '';
  const { post, go } = await steps.begin({ thread });
  network.fates.push({ kind: 'taken' });
  how(network);
  await steps.attemptAll(post, go);
  await steps.finalize(post, go);
  const [shown] = (await steps.show(post)).channels;
  return { steps, post, channel, shown, url: network.live[0]?.sent.url ?? '' };
}

const refused = (network: FakeNetwork) => {
  network.fates.push(fails('content_refused'));
};
const inDoubt = (network: FakeNetwork) => {
  network.fates.push({ kind: 'lost' });
  network.blind = cannotTell;
};

for (const [status, how] of [
  ['failed', refused],
  ['unconfirmed', inDoubt],
] as const) {
  test(`a ${status} thread shows the address of its live part, and warns that it is live`, async (t) => {
    const { shown, url } = await endedMidway(t, how);
    const warning = `1 of 3 parts of the thread is live, from ${url} on.`;
    t.like(shown, { status, url, warning });
  });
}

test('the address of a live part is refused for the part in doubt, which the error names', async (t) => {
  const { steps, post, channel, shown, url } = await endedMidway(t, inDoubt);
  t.regex(shown?.error ?? '', /say where part 2 is, or that it is not there\.$/v);
  await t.throwsAsync(steps.settle(post, channel, url), {
    code: 'invalid_request',
    message:
      'url is that of part 1 of the thread, which is known to be live. Send the URL of part 2, or null only if part 2 is not there.',
  });
  t.is((await steps.show(post)).channels[0]?.status, 'unconfirmed');
});
