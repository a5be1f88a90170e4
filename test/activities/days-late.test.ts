import test from 'ava';
import { fails, fakeNetwork, liveTexts } from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';

const minute = 60_000;
const hour = 60 * minute;
const { newSteps } = onOneDatabase(test);

test('posts whose first attempt comes days late all fail', async (t) => {
  const network = fakeNetwork();
  const steps = await newSteps(t, { a: network });
  const posts = [];
  for (const body of ['First', 'Second', 'Third']) {
    const channel_ids = Object.values(steps.channels);
    posts.push(await steps.create({ body, channel_ids, schedule_in_minutes: 0 }));
    steps.pass(1000);
  }

  steps.pass(72 * hour);
  for (const post of posts) {
    const go = await steps.claimOrThrow(post);
    await steps.attemptAll(post, go);
    t.is((await steps.finalize(post, go)).status, 'failed');
    const [channel] = (await steps.show(post)).channels;
    t.like(channel, { status: 'failed', error_code: 'too_late' });
    t.regex(channel?.error ?? '', /A day has passed since its time\. Retry the post/v);
  }

  t.deepEqual(network.sends, []);

  const [first = ''] = posts;
  await steps.retry(first);
  await steps.attemptAll(first, await steps.claimOrThrow(first));
  t.deepEqual(liveTexts(network), ['First']);
});

test('a thread with a live part also fails a day after its time, and its error names the live part', async (t) => {
  const network = fakeNetwork();
  const steps = await newSteps(t, { a: network });
  const channel_ids = Object.values(steps.channels);
  const post = await steps.create({ thread: ['One', 'Two'], channel_ids, schedule_in_minutes: 0 });
  const go = await steps.claimOrThrow(post);
  network.fates.push({ kind: 'taken' }, fails('network_unavailable'));
  await steps.attemptAll(post, go);
  steps.pass(25 * hour); // No worker ran.
  await steps.attemptAll(post, go);
  t.deepEqual(liveTexts(network), ['One']);
  const [channel] = (await steps.show(post)).channels;
  t.like(channel, { status: 'failed', error_code: 'too_late' });
  t.true(channel?.error?.includes(network.live[0]?.sent.url ?? '?'));
});
