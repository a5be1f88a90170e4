import test, { type ExecutionContext } from 'ava';
import { fakeNetwork } from '../../../support/networks.ts';
import { poll } from '../../../support/poll.ts';
import { postLife } from '../../../support/post-life.ts';
import { minute, there } from './doubt.ts';

/** A worker that hangs in the middle of a send, whose post has ended meanwhile, and a minute has passed. */
async function lateWorker(t: ExecutionContext) {
  const network = fakeNetwork();
  const { promise: gate, resolve: release } = Promise.withResolvers<void>();
  const hanging = {
    ...network,
    send: async (...args: Parameters<typeof network.send>) => {
      await gate;
      return network.send(...args);
    },
  };
  const life = await postLife(t, { hanging });
  const channel = life.channels['hanging'] ?? '';
  const sending = { body: 'Hello', channel_ids: [channel], schedule_in_minutes: 0 };
  const post = await life.create(sending);
  const claimed = await life.claim(post);
  if (claimed.kind !== 'go') {
    throw new Error(`The claim said ${claimed.kind}.`);
  }

  const tried = life.attempt(post, claimed.targets[0]?.postChannelId ?? '');
  const states = (): Promise<{ state: string }[]> =>
    life.deps.orm.em.fork().execute('select state from publish_attempts');
  await poll(states, ([row]) => row?.state === 'sending');
  await life.finalize(post, claimed);
  life.pass(2 * minute);
  t.like((await life.show(post)).channels[0], { status: 'unconfirmed' });
  const comesBack = async (): Promise<void> => {
    release();
    t.like(await tried, { kind: 'done', status: 'published' });
  };
  return { life, network, channel, post, comesBack };
}

test('a worker that comes back with the post is believed, whatever somebody said of it', async (t) => {
  for (const answer of [null, there]) {
    const { life, network, channel, post, comesBack } = await lateWorker(t);
    await life.settle(post, channel, answer);
    await comesBack();
    const shown = await life.show(post);
    t.is(shown.status, 'published');
    const { sent } = network.live[0] ?? {};
    t.like(shown.channels[0], { status: 'published', url: sent?.url, error: null });
    await t.throwsAsync(life.retry(post), { code: 'nothing_to_retry' });
    t.is(network.sends.length, 1);
    const ends = answer === null ? ['post.failed', 'post.failed'] : ['post.failed'];
    t.deepEqual(await life.events(post), [...ends, 'post.published']);
  }
});

test('a retry that was asked for before such a worker came back sends nothing a second time', async (t) => {
  const { life, network, channel, post, comesBack } = await lateWorker(t);
  await life.settle(post, channel, null);
  await life.retry(post);
  await comesBack();
  const claimed = await life.claim(post);
  if (claimed.kind === 'go') {
    for (const { postChannelId } of claimed.targets) {
      await life.attempt(post, postChannelId);
    }

    await life.finalize(post, claimed);
  }

  t.is(network.sends.length, 1);
  t.like(await life.show(post), { status: 'published', summary: { published: 1 } });
});
