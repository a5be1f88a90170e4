import test, { type ExecutionContext } from 'ava';
import { cannotTell, fakeNetwork, type FakeNetwork } from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';

const minute = 60_000;
const { newSteps } = onOneDatabase(test);

test('a cancelled post that loses its unsent channels ends as published, with its event', async (t) => {
  const [a, b] = [fakeNetwork(), fakeNetwork()];
  const steps = await newSteps(t, { a, b });
  await steps.subscribe('post.published', 'post.partial');
  const { post, go, id } = await steps.begin({ body: 'Hello' });
  await steps.attempt(post, id);
  await steps.cancel(post);
  await steps.finalize(post, go);
  t.is((await steps.show(post)).status, 'draft');

  await steps.edit(post, { channel_ids: [steps.channels['b'] ?? ''] });
  const { status: kept, warning } = await steps.show(post);
  t.is(kept, 'draft');
  t.regex(warning ?? '', /^a channel @me .* stays: the post is or may be live there\./v);

  await steps.edit(post, { channel_ids: [steps.channels['a'] ?? ''] });

  const { status, channels } = await steps.show(post);
  t.is(status, 'published');
  t.is(channels.map((channel) => channel.status).join(), 'published');
  t.deepEqual(await steps.events(post), ['post.published']);
});

for (const [removal, settlesFirst] of [
  ['after', false],
  ['before', true],
] as const) {
  test(`a cancelled post ends as published, with one event, when its last channel is settled ${removal} the others are removed`, async (t) => {
    const [a, b] = [fakeNetwork(), fakeNetwork()];
    const { steps, post, channels } = await doubtfulDraft(t, { a, b });
    const acts = [
      () => steps.edit(post, { channel_ids: [channels.a] }),
      () => steps.settle(post, channels.a, url),
    ];
    for (const act of settlesFirst ? acts.toReversed() : acts) {
      await act();
    }

    t.like(await steps.show(post), { status: 'published', summary: { published: 1, pending: 0 } });
    t.deepEqual(await steps.events(post), ['post.published']);
    await steps.settle(post, channels.a, url); // The same request again.
    t.deepEqual(await steps.events(post), ['post.published']);
    t.is((await steps.claim(post)).kind, 'gone');
  });
}

const url = 'https://fake.example/found';

/**
 * A post cancelled after it was sent to one of its two channels, whose network cannot tell whether the post is live.
 */
async function doubtfulDraft(t: ExecutionContext, networks: Record<'a' | 'b', FakeNetwork>) {
  const steps = await newSteps(t, networks);
  await steps.subscribe('post.published', 'post.partial', 'post.failed');
  const channels = { a: steps.channels['a'] ?? '', b: steps.channels['b'] ?? '' };
  const { post, go, id } = await steps.begin({ body: 'Hello' });
  networks.a.fates.push({ kind: 'lost' });
  networks.a.blind = cannotTell;
  await steps.attempt(post, id);
  t.is(await steps.cancel(post), 0);
  await steps.finalize(post, go);
  steps.pass(2 * minute);
  const { channels: shown } = await steps.show(post);
  t.is(shown.map(({ status }) => status).join(), 'unconfirmed,draft');
  return { steps, post, channels };
}
