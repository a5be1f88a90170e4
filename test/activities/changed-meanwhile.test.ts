import test, { type ExecutionContext } from 'ava';
import type { Em } from '../../db/orm.ts';
import { down, fails, fakeNetwork, interrupt, liveTexts } from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';
import type { PostSteps } from '../support/post-steps.ts';
import { untilBlocked } from '../support/until-blocked.ts';

const minute = 60_000;
const { newSteps } = onOneDatabase(test);

test('a post that was cancelled, ended in spite of it, and is retried, is sent again', async (t) => {
  const { steps, network, post, go } = await claimed(t);
  network.fates.push(fails('content_refused'));
  interrupt(network, 'send', () => steps.cancel(post));
  await steps.attemptAll(post, go);
  t.is((await steps.finalize(post, go, { canceled: true, heard: 2 })).status, 'failed');

  await steps.retry(post);
  t.is((await steps.claim(post)).kind, 'go');
});

test('an end that is written again, because its answer was lost, leaves a retry alone', async (t) => {
  const { steps, network, post, go } = await claimed(t);
  await steps.subscribe('post.failed', 'post.published');
  network.fates.push(fails('content_refused'));
  await steps.attemptAll(post, go);
  const first = await steps.finalize(post, go);
  t.is(first.deliveryIds.length, 1);

  await steps.retry(post);
  for (const heard of [1, 2]) {
    t.deepEqual(await steps.finalize(post, go, { heard }), {
      status: 'gone',
      deliveryIds: first.deliveryIds, // They may have been lost with the answer.
    });
  }

  t.is((await steps.show(post)).status, 'publishing');
  const again = await steps.claimOrThrow(post);
  t.is(again.targets.length, 1);
  await steps.attemptAll(post, again);
  await steps.finalize(post, again);
  t.deepEqual(await steps.events(post), ['post.failed', 'post.published']);
});

test('a cancelled post of which a try fails is a draft, and no event says that it failed, whether or not its workflow heard', async (t) => {
  for (const heard of [true, false]) {
    const { steps, network, post, go } = await claimed(t);
    network.fates.push(fails('network_unavailable'));
    interrupt(network, 'send', () => steps.cancel(post));
    await steps.attemptAll(post, go);
    // Whoever looks in between sees neither a failure nor a promise to try again.
    t.like((await steps.show(post)).channels[0], { status: 'draft', error: null, retry_at: null });

    t.is(
      (await steps.finalize(post, go, heard ? { canceled: true, heard: 2 } : {})).status,
      'draft',
    );
    t.like((await steps.show(post)).channels[0], { status: 'draft', error: null });
    t.deepEqual(await steps.events(post), []);
  }
});

test('a try that fails after its post was cancelled and scheduled anew waits for the new time', async (t) => {
  const { steps, network, post, go } = await claimed(t, ['a', 'b']);
  network.fates.push(fails('network_unavailable'));
  interrupt(network, 'send', async () => {
    await steps.cancel(post);
    await steps.edit(post, { body: 'Better', schedule_in_minutes: 60 });
  });
  await steps.attemptAll(post, go);
  t.is((await steps.finalize(post, go, { heard: 3 })).status, 'gone');

  const { status, channels } = await steps.show(post);
  t.is(status, 'scheduled');
  for (const channel of channels) {
    t.like(channel, { status: 'scheduled', error: null, retry_at: null });
  }

  steps.pass(60 * minute);
  const again = await steps.claimOrThrow(post);
  await steps.attemptAll(post, again);
  t.is((await steps.finalize(post, again)).status, 'published');
  t.deepEqual(liveTexts(network), ['Better', 'Better']);
});

test('a worker that dies with a post that was cancelled and scheduled anew sends nothing before the new time', async (t) => {
  const { steps, network, post, go } = await claimed(t, ['a', 'b']);
  await steps.deps.orm.em.execute(`update post_channels set status = 'publishing' where id = ?`, [
    go.targets[0]?.postChannelId,
  ]);
  await steps.cancel(post);
  await steps.edit(post, { body: 'Better', schedule_in_minutes: 60 });
  await steps.attemptAll(post, go);
  t.deepEqual(network.live, []);
  await steps.finalize(post, go, { heard: 3 });
  const { channels } = await steps.show(post);
  t.deepEqual(
    channels.map(({ status }) => status),
    ['scheduled', 'scheduled'],
  );
});

test('a channel says what went out, not what the post became while nobody knew', async (t) => {
  const { steps, network, post, go } = await claimed(t);
  network.fates.push({ kind: 'lost' });
  network.blind = down;
  await steps.attemptAll(post, go);
  network.blind = undefined;
  // Not by a call of the API, which would not do it: only the ledger knows what was sent.
  await steps.deps.orm.em.execute(`update posts set body = 'Better' where id = ?`, [post]);
  await steps.attemptAll(post, go);
  t.like((await steps.show(post)).channels[0], { status: 'published', body: 'Hello' });
});

/** A post on a channel of each network, all of which share their fates, that was due and is claimed. */
async function claimed(t: ExecutionContext, names: readonly string[] = ['a']) {
  const network = fakeNetwork();
  const networks = Object.fromEntries(names.map((name) => [name, network]));
  const steps = await newSteps(t, networks);
  const channelIds = Object.values(steps.channels);
  const request = { body: 'Hello', channel_ids: channelIds, schedule_in_minutes: 0 };
  const post = await steps.create(request);
  return { steps, network, post, go: await steps.claimOrThrow(post) };
}

test('a claim that waits for an edit publishes the post as it is then, on its channels of then', async (t) => {
  const { steps, post } = await due(t);

  const claim = await whileChanged(
    steps,
    {
      post,
      raises: 1,
      change: (em) =>
        em.execute('delete from post_channels where post_id = ? and channel_id = ?', [
          post,
          steps.channels['second'],
        ]),
    },
    () => steps.claimOrThrow(post),
  );

  t.deepEqual(
    claim.targets.map(({ channelId }) => channelId),
    [steps.channels['first']],
  );
});

test('a try that waits for somebody who changes the channel does not begin with what it had read before', async (t) => {
  const { steps, post, network } = await due(t);
  const go = await steps.claimOrThrow(post);
  const { postChannelId = '' } = go.targets[0] ?? {};

  const tried = await whileChanged(
    steps,
    {
      post,
      raises: 1,
      change: (em) =>
        em.execute("update post_channels set body = 'New' where id = ? and post_id = ?", [
          postChannelId,
          post,
        ]),
    },
    () => steps.attempt(post, postChannelId),
  );

  t.like(tried, { kind: 'done', status: 'draft' });
  t.deepEqual(network.sends, []);
  t.like(await steps.attempt(post, postChannelId), { kind: 'done', status: 'published' });
  t.is(network.sends.length, 1);
  t.is((await steps.show(post)).channels[0]?.body, 'New');
});

test('an event says what the channels are when the post ends, also when its end had to wait for one of them', async (t) => {
  const { steps, post } = await due(t);
  const go = await steps.claimOrThrow(post);
  await steps.attemptAll(post, go);

  const end = await whileChanged(
    steps,
    {
      post,
      raises: 0,
      change: (em) =>
        em.execute(
          "update post_channels set status = 'failed', url = null where post_id = ? and channel_id = ?",
          [post, steps.channels['second']],
        ),
    },
    () => steps.finalize(post, go),
  );

  t.is(end.status, 'failed');
  t.deepEqual(await steps.events(post), ['post.partial']);
});

async function due(t: ExecutionContext) {
  const network = fakeNetwork();
  const steps = await newSteps(t, { first: network, second: fakeNetwork() });
  const channel_ids = ['first', 'second'].map((name) => steps.channels[name] ?? '');
  const post = await steps.create({ body: 'Old', channel_ids, schedule_in_minutes: 0 });
  return { steps, post, network };
}

type Change = {
  readonly post: string;
  /** By how much it raises the revision. */
  readonly raises: 0 | 1;
  readonly change: (em: Em) => Promise<unknown>;
};

/** Has somebody change a post, whose commit comes only when `act` waits for it. @returns what came of `act`. */
async function whileChanged<T>(
  { deps }: PostSteps,
  { post, raises, change }: Change,
  act: () => Promise<T>,
): Promise<T> {
  const em = deps.orm.em.fork();
  await em.begin();
  // As every change of the API: the post first.
  await em.execute(
    `update posts set revision = revision + ?, updated_at = clock_timestamp() where id = ?`,
    [raises, post],
  );
  await change(em);
  const acting = act();
  acting.catch(() => undefined);
  await untilBlocked(deps.orm);
  await em.commit();
  return acting;
}
