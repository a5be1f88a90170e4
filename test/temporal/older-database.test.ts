import type { FinalizeRequest, Finalized } from '../../activities/finalize-post.ts';
import { completeRestore } from '../../cli/admin/installation.ts';
import { awaitsRestoreFinish } from '../../db/restore-counter.ts';
import { syncPost } from '../../temporal/sync-post.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { newClient } from '../support/client.ts';
import { beforeTests } from '../support/kit.ts';
import { endOf } from '../support/end-of.ts';
import { needs } from '../support/needs.ts';
import { cannotTell, fails, fakeNetwork, fakeNetworks } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers } from '../support/punctual.ts';
import { fakeChannel } from '../support/seed.ts';
import { within } from '../support/within.ts';

const test = needs('temporal');
const hour = 3_600_000;
const at = (inMs: number) => new Date(Date.now() + inMs).toISOString();

type Finalize = () => Promise<Finalized>;

/** What a test does when a post's workflow records its end for the first time, by the post's id. */
const atTheEnd = new Map<string, (finalize: Finalize) => Promise<Finalized>>();

/** What a test does before Temporal has the result of a channel in doubt, by the post's id. */
const whenInDoubt = new Map<string, () => Promise<unknown>>();

const shared = beforeTests(test, async (scope) => {
  const punctual = await startApi(scope, { networks: fakeNetworks });
  await startWorkers(scope, punctual, {
    adapt: ({ finalizePost, publishChannel, ...activities }) => ({
      ...activities,
      publishChannel: async (request) => {
        const outcome = await publishChannel(request);
        await (outcome.status === 'unconfirmed' && whenInDoubt.get(request.postId)?.());
        return outcome;
      },
      finalizePost: (request: FinalizeRequest) => {
        const step = atTheEnd.get(request.postId);
        atTheEnd.delete(request.postId);
        return step ? step(() => finalizePost(request)) : finalizePost(request);
      },
    }),
  });
  return punctual;
});

/** A post that one channel takes. The other one refuses it, for good or for an hour. */
async function halfPublished(refusal: 'for good' | 'for an hour') {
  const { orm, temporal } = shared();
  await orm.em.fork().execute('update installation set behind_since = null');
  const client = await newClient(shared());
  const [network, other] = [fakeNetwork(), fakeNetwork()];
  const busy = fails('network_unavailable', { retryAtMs: Date.now() + hour });
  other.fates.push(refusal === 'for good' ? fails('content_refused') : busy);
  const channels = [network, other].map((one) => fakeChannel(shared(), client.workspaceId, one));
  const post = { body: 'Hello', channel_ids: await Promise.all(channels), scheduled_at: at(hour) };
  const { id } = (await client.post('/posts', post)).body.post;
  const handle = temporal.client.workflow.getHandle(postWorkflowId(id));
  const run = (statement: string) =>
    orm.em.fork().execute<Record<string, string | number>[]>(statement, [id]);
  const move = (inMs: number) => client.patch(`/posts/${id}`, { scheduled_at: at(inMs) });
  return {
    client,
    id,
    handle,
    network,
    move,
    cancel: () => client.post(`/posts/${id}/cancel`),
    publishHalf: async () => {
      await move(0);
      await poll(
        async () => (await client.get(`/posts/${id}`)).body.post.channels,
        ([first, last]) => first.status === 'published' && last.status === 'retrying',
      );
    },
    /** Returns the rows to their state before the post went out. */
    restore: async (settledAt = 'null') => {
      await run(`delete from post_parts a using post_channels pc
        where pc.id = a.post_channel_id and pc.post_id = ?`);
      await run(`update post_channels set status = 'scheduled', tries = 0, retry_at = null,
        error = null, error_code = null, url = null, published_at = null, settled_at = ${settledAt} where post_id = ?`);
      const status = settledAt === 'null' ? 'scheduled' : 'publishing';
      await run(`update posts set status = '${status}', scheduled_at = now() where id = ?`);
    },
    /** Schedules the draft without a signal to its workflow. */
    scheduleUnnoticed: async () => {
      await run(`update post_channels set status = 'scheduled'
        where status = 'draft' and post_id = ?`);
      await run(`update posts set status = 'scheduled', scheduled_at = now() + interval '1 hour',
        revision = revision + 1, synced_revision = revision + 1 where id = ?`);
    },
    /** Starts another workflow, as the sweep does. */
    startAnew: async () => {
      const [row] = await run('select revision from posts where id = ?');
      await syncPost(temporal.client, orm.em.fork(), {
        workspaceId: client.workspaceId,
        postId: id,
        status: 'scheduled',
        revision: Number(row?.['revision']),
        dueAt: at(hour),
      });
    },
    sends: () => network.sends.length + other.sends.length,
  };
}

type HalfPublished = Awaited<ReturnType<typeof halfPublished>>;

/** Publishes the post. @param step Runs when its workflow records the end. */
async function publish(
  { id, move, handle }: HalfPublished,
  step: (finalize: Finalize) => Promise<Finalized>,
): Promise<void> {
  const done = Promise.withResolvers<void>();
  atTheEnd.set(id, (finalize) => step(finalize).finally(done.resolve));
  await move(0);
  await within(done.promise, () => 'No worker records the end of the post.');
  await handle.result().catch(() => undefined);
}

const minuteAgo = "now() - interval '1 minute'";
for (const settledAt of ['null', minuteAgo]) {
  test.serial(
    `a lost result of a channel is not sent again: settled at ${settledAt}`,
    async (t) => {
      const post = await halfPublished('for an hour');
      await post.publishHalf();
      await post.restore(settledAt);
      await post.handle.signal('reschedule', { revision: 99, dueAt: at(0) });

      t.is(await endOf(post.handle), 'post_unconfirmed');
      t.true(await awaitsRestoreFinish(shared().orm));
      t.is(post.sends(), 2);
    },
  );
}

test.serial('a channel whose result was lost is not sent as another row of the post', async (t) => {
  const { client, id, network, move, publishHalf, restore } = await halfPublished('for an hour');
  const { channels } = (await client.get(`/posts/${id}`)).body.post;
  const channel_ids = channels.map((one: { channel_id: string }) => one.channel_id);
  await publishHalf();
  await restore();
  await client.patch(`/posts/${id}`, { channel_ids: channel_ids.slice(1) });
  await client.patch(`/posts/${id}`, { channel_ids });
  await move(0);

  t.is((await client.finalPost(id)).outcome, 'unconfirmed');
  t.is(network.sends.length, 1);

  await shared().orm.em.fork().execute('update installation set behind_since = null');
  for (const channel_id of channel_ids) {
    await client.post(`/posts/${id}/settle`, { channel_id, url: null });
  }
  await client.post(`/posts/${id}/retry`);
  t.is((await client.finalPost(id)).outcome, 'published');
});

test.serial('a cancel after a lost result makes no draft that could be sent again', async (t) => {
  const post = await halfPublished('for an hour');
  await post.publishHalf();
  await post.restore();
  await post.cancel();
  t.is(await endOf(post.handle), 'post_unconfirmed');
});

test.serial(
  'a run that was cancelled, whose result was lost, proves an older database',
  async (t) => {
    const post = await halfPublished('for an hour');
    await post.publishHalf();
    await post.cancel();
    t.is(await post.handle.result(), 'stopped');
    await post.restore();
    await post.scheduleUnnoticed();
    await t.throwsAsync(post.startAnew(), { name: 'DatabaseOlderError' });
  },
);

test.serial('a terminated workflow that had published proves an older database', async (t) => {
  const post = await halfPublished('for good');
  await publish(post, async (finalize) => {
    await post.handle.terminate('test');
    const ended = await finalize();
    await post.restore();
    return ended;
  });

  await t.throwsAsync(post.startAnew(), { name: 'DatabaseOlderError' });
  t.true(await awaitsRestoreFinish(shared().orm));
  t.is(post.sends(), 2);
});

test.serial('a lost result of a retry after a settlement is no failure', async (t) => {
  const post = await halfPublished('for good');
  await publish(post, (finalize) => post.restore(minuteAgo).then(finalize));

  t.is(await endOf(post.handle), 'post_unconfirmed');
  t.true(await awaitsRestoreFinish(shared().orm));
});

test.serial('"restore finish" doubts a lost result that a later settlement showed', async (t) => {
  const { orm, temporal } = shared();
  const post = await halfPublished('for good');
  await publish(post, (finalize) => finalize());
  await post.restore(minuteAgo);
  await orm.em.fork().execute("update posts set status = 'failed' where id = ?", [post.id]);
  const failed = "update post_channels set status = 'failed' where post_id = ?";
  await orm.em.fork().execute(failed, [post.id]);

  await t.throwsAsync(post.startAnew(), { name: 'DatabaseOlderError' });
  await completeRestore(orm, temporal.client, new Date(Date.now() - hour));
  t.is((await post.client.finalPost(post.id)).outcome, 'unconfirmed');
});

test.serial('a post that is cancelled and scheduled again is no sign of a restore', async (t) => {
  const post = await halfPublished('for an hour');
  const { id, handle, move, cancel, client } = post;
  await post.publishHalf();
  await cancel();
  t.is(await handle.result(), 'stopped');
  await post.scheduleUnnoticed();

  await t.notThrowsAsync(post.startAnew());
  await move(0);
  t.is((await client.finalPost(id)).status, 'published');
  t.false(await awaitsRestoreFinish(shared().orm));
  t.is(post.sends(), 3);
});

test.serial('a settlement before Temporal has the result is no sign of a restore', async (t) => {
  const { client, id, network, move } = await halfPublished('for good');
  network.fates.push({ kind: 'vanished' });
  network.blind = cannotTell;
  whenInDoubt.set(id, async () => {
    const [{ channel_id }] = (await client.get(`/posts/${id}`)).body.post.channels;
    await client.post(`/posts/${id}/settle`, { channel_id, url: null });
  });
  await move(0);

  t.is((await client.finalPost(id)).outcome, 'failed');
  t.false(await awaitsRestoreFinish(shared().orm));
});
