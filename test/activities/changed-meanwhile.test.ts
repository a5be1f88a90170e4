import test, { type ExecutionContext } from 'ava';
import { publishChannel } from '../../activities/publish-channel/publish-channel.ts';
import { createOrm, type Em } from '../../db/orm.ts';
import { attempt } from '../support/attempt.ts';
import { freshDatabase, patience } from '../support/database.ts';
import { holdLock } from '../support/hold-lock.ts';
import { fails, fakeNetwork, interrupt, liveTexts } from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';
import { postSteps, type PostSteps } from '../support/post-steps.ts';
import { untilBlocked } from '../support/until-blocked.ts';

const minute = 60_000;
const { newSteps } = onOneDatabase(test);

for (const code of ['content_refused', 'access_lost', 'too_late'] as const) {
  test(`a post that is cancelled midway, edited and rescheduled is sent at its new time although the old send ended with ${code}`, async (t) => {
    const network = fakeNetwork(minute);
    const steps = await newSteps(t, { a: network });
    await steps.subscribe('post.published', 'post.failed');
    const { post, go, id } = await steps.begin({ body: 'Old' });
    interrupt(network, 'send', async () => {
      t.is(await steps.cancel(post), 1);
      await steps.edit(post, { body: 'New', schedule_in_minutes: 60 });
      network.fates.push(fails(code));
    });
    await steps.attempt(post, id);
    await steps.finalize(post, go);
    t.like((await steps.show(post)).channels[0], { status: 'scheduled', error: null });

    steps.pass(61 * minute);
    const again = await steps.claimOrThrow(post);
    await steps.attemptAll(post, again);
    await steps.finalize(post, again);
    t.deepEqual(liveTexts(network), ['New']);
    t.deepEqual(await steps.events(post), ['post.published']);
  });
}

/** Creates a post that is claimed `lateMs` after its due time. */
async function claimedLate(t: ExecutionContext, lateMs: number) {
  const network = fakeNetwork();
  const steps = await newSteps(t, { a: network });
  const channel = steps.channels['a'] ?? '';
  const post = await steps.create({ body: 'Old', channel_ids: [channel], schedule_in_minutes: 0 });
  steps.pass(lateMs);
  const go = await steps.claimOrThrow(post);
  return { steps, network, post, channel, id: go.targets[0]?.postChannelId ?? '' };
}

for (const [when, lateMs] of [
  ['on time', 0],
  ['late', 5 * minute],
] as const) {
  test(`a post is sent ${when} only if the concurrent cancel counted it as still sending`, async (t) => {
    const { steps, network, post, id } = await claimedLate(t, lateMs);
    const { release } = await holdBeginning(t, steps);
    const trying = steps.attempt(post, id).catch(() => undefined);
    await untilBlocked(steps.deps.orm);
    const changing = cancelAndEdit(steps, post);
    // Either the cancel completes, or it waits until the attempt has begun.
    await Promise.race([changing, untilBlocked(steps.deps.orm, 2)]);
    release();
    const stillSending = await changing;
    await trying;

    t.is(network.live.length, stillSending);
  });
}

/** Cancels the post, and edits it if nothing is or was sent. @returns how many posts the cancel's answer announces. */
async function cancelAndEdit(steps: PostSteps, post: string): Promise<number> {
  const stillSending = await steps.cancel(post).catch(() => 1); // Refused if it comes after the end: the post is out.
  if (stillSending === 0) {
    await steps.edit(post, { body: 'New', schedule_in_minutes: 60 });
  }

  return stillSending;
}

/** Blocks the statement that begins an attempt after it has read the post and before it changes a row. */
async function holdBeginning(t: ExecutionContext, { deps: { orm } }: PostSteps) {
  const lock = "pg_advisory_xact_lock(hashtext('begin'), hashtext(current_schema))";
  // The statement calls `clock_timestamp()`, which the test steps replace anyway.
  await orm.em.fork().execute(
    `create or replace function clock_timestamp() returns timestamptz language plpgsql as $$ begin
       if current_query() like '%tried_at = clock_timestamp()%' then perform ${lock}; end if;
       return (select at from at); end $$`,
  );
  return holdLock(t, orm, `select ${lock}`);
}

test('a late post that is cancelled, edited and rescheduled while an attempt waits for it is not sent', async (t) => {
  const { steps, network, post, id } = await claimedLate(t, 5 * minute);

  const trying = whileScheduledAnew(steps, post, () => steps.attempt(post, id));
  await t.throwsAsync(trying, { name: 'SupersededError' });
  t.like(await steps.attempt(post, id), { kind: 'done', status: 'draft' });
  t.deepEqual(liveTexts(network), []);
  t.is((await steps.show(post)).channels[0]?.status, 'scheduled');
});

/**
 * Cancels, edits and reschedules the post while `act` waits for its row. One transaction does it all, so the waiting
 * statement has seen none of these changes.
 */
async function whileScheduledAnew<T>(
  { deps, workspaceId }: PostSteps,
  post: string,
  act: () => Promise<T>,
): Promise<T> {
  const em = deps.orm.em.fork();
  await em.begin();
  await em.execute(
    `update posts set status = 'scheduled', body = 'New', revision = revision + 2,
       scheduled_at = scheduled_at + interval '1 hour' where id = ? and workspace_id = ?`,
    [post, workspaceId],
  );
  await em.execute(
    `update post_channels set status = 'scheduled' where post_id = ? and workspace_id = ?`,
    [post, workspaceId],
  );
  const acting = act();
  acting.catch(() => undefined);
  await untilBlocked(deps.orm);
  await em.commit();
  return acting;
}

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

test('an attempt that reads an earlier state from a standby, before its promotion, ends no channel', async (t) => {
  const network = fakeNetwork();
  const { url } = await freshDatabase(t);
  const { deps, workspaceId, ...steps } = await postSteps(t, { a: network }, url);
  const { post, go, id } = await steps.begin({ body: 'Hello' });
  const standby = createOrm(`${url}?options=-c%20default_transaction_read_only%3Don`, patience);
  t.teardown(() => standby.close());
  const request = { workspaceId, postId: post, postChannelId: id };
  const onStandby = () => attempt(publishChannel, { ...deps, orm: standby }, request);

  await deps.orm.em.fork().execute("update posts set status = 'scheduled' where id = ?", [post]);
  await t.throwsAsync(onStandby, { message: /read-only/v });
  const unknown = { ...request, postChannelId: post };
  await t.throwsAsync(attempt(publishChannel, { ...deps, orm: standby }, unknown), {
    message: /read-only/v,
  });

  await deps.orm.em.fork().execute("update posts set status = 'publishing' where id = ?", [post]);
  await steps.attempt(post, id);
  t.like(await steps.finalize(post, go), { status: 'published' });
});
