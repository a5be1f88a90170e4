import test, { type ExecutionContext } from 'ava';
import type { Em } from '../../db/orm.ts';
import { fails, fakeNetwork } from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';
import type { PostSteps } from '../support/post-steps.ts';
import { untilBlocked } from '../support/until-blocked.ts';
const { newSteps } = onOneDatabase(test);

test('a repeated finalize whose first response was lost leaves a retry alone', async (t) => {
  const network = fakeNetwork();
  const steps = await newSteps(t, { a: network });
  const { post, go } = await steps.begin({ body: 'Hello' });
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

test('an event shows the channels as they are when the post ends, also when the finalize waited for one of them', async (t) => {
  const steps = await newSteps(t, { first: fakeNetwork(), second: fakeNetwork() });
  const { post, go } = await steps.begin({ body: 'Hello' });
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
