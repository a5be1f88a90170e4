import test, { type ExecutionContext } from 'ava';
import type { Em } from '../../db/orm.ts';
import { down, fails, fakeNetwork, interrupt, liveTexts } from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';
import type { PostSteps } from '../support/post-steps.ts';
import { untilBlocked } from '../support/until-blocked.ts';

const minute = 60_000;
const { newSteps } = onOneDatabase(test);

test('a post that failed although it was cancelled is sent again by a retry', async (t) => {
  const { steps, network, post, go } = await claimed(t);
  network.fates.push(fails('content_refused'));
  interrupt(network, 'send', () => steps.cancel(post));
  await steps.attemptAll(post, go);
  t.is((await steps.finalize(post, go)).status, 'failed');

  await steps.retry(post);
  t.is((await steps.claim(post)).kind, 'go');
});

test('a repeated finalize whose first response was lost leaves a retry alone', async (t) => {
  const { steps, network, post, go } = await claimed(t);
  await steps.subscribe('post.failed', 'post.published');
  network.fates.push(fails('content_refused'));
  await steps.attemptAll(post, go);
  const first = await steps.finalize(post, go);
  t.is(first.deliveryIds.length, 1);

  await steps.retry(post);
  t.like(await steps.finalize(post, go), {
    end: null,
    deliveryIds: first.deliveryIds, // They may have been lost with the response.
  });

  t.is((await steps.show(post)).status, 'publishing');
  const again = await steps.claimOrThrow(post);
  t.is(again.targets.length, 1);
  await steps.attemptAll(post, again);
  await steps.finalize(post, again);
  t.deepEqual(await steps.events(post), ['post.failed', 'post.published']);
});

test('an attempt that fails after its post was cancelled and rescheduled leaves the post for the new time', async (t) => {
  const { steps, network, post, go } = await claimed(t, ['a', 'b']);
  network.fates.push(fails('network_unavailable'));
  interrupt(network, 'send', async () => {
    await steps.cancel(post);
    await steps.edit(post, { body: 'Better', schedule_in_minutes: 60 });
  });
  await steps.attemptAll(post, go);
  t.is((await steps.finalize(post, go)).end, null);

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

test('a post that is cancelled and rescheduled while its worker is dead is not sent before the new time', async (t) => {
  const { steps, network, post, go } = await claimed(t, ['a', 'b']);
  await steps.deps.orm.em.execute(`update post_channels set status = 'publishing' where id = ?`, [
    go.targets[0]?.postChannelId,
  ]);
  await steps.cancel(post);
  await steps.edit(post, { body: 'Better', schedule_in_minutes: 60 });
  await steps.attemptAll(post, go);
  t.deepEqual(network.live, []);
  t.is((await steps.claim(post)).kind, 'not_due');
  const { channels } = await steps.show(post);
  t.deepEqual(
    channels.map(({ status }) => status),
    ['scheduled', 'scheduled'],
  );
});

test('a channel shows the text that was sent, not a later one', async (t) => {
  const { steps, network, post, go } = await claimed(t);
  network.fates.push({ kind: 'lost' });
  network.blind = down;
  await steps.attemptAll(post, go);
  network.blind = undefined;
  // The API refuses this edit; only the ledger has the sent text.
  await steps.deps.orm.em.execute(`update posts set body = 'Better' where id = ?`, [post]);
  await steps.attemptAll(post, go);
  t.like((await steps.show(post)).channels[0], { status: 'published', body: 'Hello' });
});

/** A due, claimed post on one channel per name. All channels share one network. */
async function claimed(t: ExecutionContext, names: readonly string[] = ['a']) {
  const network = fakeNetwork();
  const networks = Object.fromEntries(names.map((name) => [name, network]));
  const steps = await newSteps(t, networks);
  const channelIds = Object.values(steps.channels);
  const request = { body: 'Hello', channel_ids: channelIds, schedule_in_minutes: 0 };
  const post = await steps.create(request);
  return { steps, network, post, go: await steps.claimOrThrow(post) };
}

test('a claim that waits for an edit publishes the edited post on its edited channels', async (t) => {
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

test('an attempt that waits for a change of the channel does not send the text it read before', async (t) => {
  const { steps, post, network } = await due(t);
  const go = await steps.claimOrThrow(post);
  const { postChannelId = '' } = go.targets[0] ?? {};

  const tried = whileChanged(
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

  await t.throwsAsync(tried, { name: 'SupersededError' });
  t.deepEqual(network.sends, []);
  t.like(await steps.attempt(post, postChannelId), { kind: 'done', status: 'published' });
  t.is(network.sends.length, 1);
  t.is((await steps.show(post)).channels[0]?.body, 'New');
});

test('an event shows the channels as they are when the post ends, also when the finalize waited for one of them', async (t) => {
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
  /** How much the change raises the revision. */
  readonly raises: 0 | 1;
  readonly change: (em: Em) => Promise<unknown>;
};

/** Changes the post in a transaction that commits once `act` waits for it. @returns the result of `act`. */
async function whileChanged<T>(
  { deps }: PostSteps,
  { post, raises, change }: Change,
  act: () => Promise<T>,
): Promise<T> {
  const em = deps.orm.em.fork();
  await em.begin();
  // The API locks the post first, too.
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
