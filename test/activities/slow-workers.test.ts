import { CancelledFailure } from '@temporalio/common';
import test, { type ExecutionContext } from 'ava';
import type { ApiDeps } from '../../api/deps.ts';
import { deleteMedia } from '../../services/media/library.ts';
import {
  fails,
  fakeNetwork,
  hold,
  interrupt,
  liveTexts,
  type FakeNetwork,
} from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';
import { attachFiles, storeFile } from '../support/seed-media.ts';
import { untilBlocked } from '../support/until-blocked.ts';

const minute = 60_000;
const { newSteps } = onOneDatabase(test);

test('an attempt that hung before it sent anything is not counted by a cancel, and sends nothing when it resumes', async (t) => {
  const network = fakeNetwork();
  const steps = await newSteps(t, { a: network });
  const { post, id } = await steps.begin({ body: 'Old' });
  const { isHeld, release } = hold(network, 'prepare');
  const first = steps.attempt(post, id);
  await isHeld;
  t.is(await steps.cancel(post), 0);
  t.deepEqual(await steps.claim(post), { kind: 'gone' });

  release();
  await t.throwsAsync(first);
  t.deepEqual(network.live, []);
});

for (const step of ['upload', 'send'] as const) {
  test(`an attempt that hung since before a cancel sends no old text during the ${step} of the edited post`, async (t) => {
    const network = fakeNetwork();
    const steps = await newSteps(t, { a: network });
    const { post, go, id } = await steps.begin({ body: 'Old' });
    const { isHeld, release } = hold(network, 'upload');
    const first = steps.attempt(post, id);
    await isHeld;
    await steps.cancel(post);
    await steps.finalize(post, go);
    await steps.edit(post, { body: 'New', schedule_in_minutes: 0 });
    await steps.claim(post);
    interrupt(network, step, async () => {
      release();
      await first.catch(() => undefined);
    });
    t.like(await steps.attempt(post, id), { status: 'published' });
    t.deepEqual(liveTexts(network), ['New']);
  });
}

test('an empty reconcile that began too early proves nothing, however late it ends', async (t) => {
  const network = fakeNetwork(minute);
  const { steps, post, id } = await dying(t, network);
  steps.pass(minute - 1);
  const { reconcile } = network;
  network.reconcile = async (...args) => {
    network.reconcile = reconcile;
    const found = await reconcile(...args);
    steps.pass(1000);
    return found;
  };

  t.like(await steps.attempt(post, id), { kind: 'again' });
  t.is(network.sends.length, 0);
});

/** A post whose worker died during the send, at an unknown point. */
async function dying(t: ExecutionContext, network: FakeNetwork) {
  const steps = await newSteps(t, { a: network });
  const { post, id } = await steps.begin({ body: 'Old' });
  interrupt(network, 'send', async () => {
    throw new CancelledFailure('The worker is gone.'); // The attempt writes nothing more.
  });
  await t.throwsAsync(steps.attempt(post, id));
  return { steps, post, id };
}

/** A post with a file that failed, its retry, and the deletion of its file. */
async function failedWithFile(t: ExecutionContext) {
  const network = fakeNetwork();
  const steps = await newSteps(t, { a: network });
  const { orm, storage } = steps.deps;
  const channelIds = Object.values(steps.channels);
  const post = await steps.create({ body: 'x', channel_ids: channelIds, schedule_in_minutes: 0 });
  const image = { name: 'a.png', type: 'image/png', bytes: Buffer.from('x'), width: 1, height: 1 };
  const file = await storeFile(steps.deps, steps.workspaceId, image);
  await attachFiles(steps.deps, steps.workspaceId, post, [file]);
  const go = await steps.claimOrThrow(post);
  network.fates.push(fails('content_refused'));
  await steps.attempt(post, go.targets[0]?.postChannelId ?? '');
  await steps.finalize(post, go);
  const media = { storage, staging: { note: nothing, forget: nothing } };
  const api = { ...steps.deps, media } as unknown as ApiDeps;
  /** Starts both calls while the file is locked. They get its lock in this order. */
  const inOrder = async (...calls: readonly (() => Promise<unknown>)[]) => {
    const results: Promise<PromiseSettledResult<unknown>[]>[] = [];
    await orm.em.fork().transactional(async (holder) => {
      await holder.execute('select from media_files where id = ? for update', [file]);
      for (const [index, call] of calls.entries()) {
        results.push(Promise.allSettled([call()]));
        await untilBlocked(orm, index + 1);
      }
    });
    return (await Promise.all(results)).flat();
  };
  return {
    inOrder,
    retry: async () => steps.retry(post),
    remove: async () => deleteMedia(api, steps, file),
  };
}

test('a file is not deleted when the retry of its post began first', async (t) => {
  const { inOrder, retry, remove } = await failedWithFile(t);
  const [retried, removed] = await inOrder(retry, remove);

  t.like(retried, { status: 'fulfilled' });
  t.like(removed, { status: 'rejected', reason: { code: 'media_in_use' } });
});

test('a retry is refused when the deletion of a file of its post began first', async (t) => {
  const { inOrder, retry, remove } = await failedWithFile(t);
  const [removed, retried] = await inOrder(remove, retry);

  t.like(removed, { status: 'fulfilled' });
  t.like(retried, { status: 'rejected', reason: { code: 'nothing_to_retry' } });
  t.regex(`${(retried as PromiseRejectedResult).reason.message}`, /\/copy with .*what is live/v);
});

const nothing = async (): Promise<void> => {};

/** A post whose worker still sends it when the run is finalized. */
async function silentWorker(t: ExecutionContext, networks = { a: fakeNetwork() }) {
  const steps = await newSteps(t, networks);
  await steps.subscribe('post.published', 'post.partial');
  const { post, go } = await steps.begin({ body: 'Old' });
  const { isHeld, release } = hold(networks.a, 'send');
  const id = go.targets.find(({ network }) => network === 'a')?.postChannelId ?? '';
  const silent = steps.attempt(post, id);
  await isHeld;
  const comeBack = async () => {
    release();
    return silent;
  };
  return { steps, post, go, comeBack };
}

test('a channel that turns out to be published after its post ended is shown as published, with a new event', async (t) => {
  const { steps, post, go, comeBack } = await silentWorker(t);
  t.is((await steps.finalize(post, go)).status, 'failed');
  t.like((await steps.show(post)).channels[0], { status: 'unconfirmed' });

  t.like(await comeBack(), { status: 'published' });
  const seen = await steps.show(post);
  t.like(seen, { status: 'published', summary: { published: 1, failed: 0, pending: 0 } });
  t.like(seen.channels[0], { status: 'published', error: null, error_code: null });
  t.deepEqual(await steps.events(post), ['post.failed', 'post.published']);
  const deliveries = await steps.deps.orm.em
    .fork()
    .execute<{ synced_round: number }[]>(
      'select synced_round from deliveries where workspace_id = ?',
      [steps.workspaceId],
    );
  t.deepEqual(deliveries, [{ synced_round: 0 }]); // Left to the outbox, because no workflow is left to start it.
});
