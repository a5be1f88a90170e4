import type { FinalizeRequest, Finalized } from '../../activities/finalize-post.ts';
import { completeRestore } from '../../cli/admin/installation.ts';
import { awaitsRestoreFinish, finishRestore } from '../../db/restore-counter.ts';
import { syncPost } from '../../temporal/sync-post.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { newClient, type Reply } from '../support/client.ts';
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

/** How a test settles a channel in doubt before Temporal has its result, by the post's id. */
const settleInDoubt = new Map<string, () => Promise<Reply>>();

const shared = beforeTests(test, async (scope) => {
  const punctual = await startApi(scope, { networks: fakeNetworks });
  await startWorkers(scope, punctual, {
    adapt: ({ finalizePost, publishChannel, ...activities }) => ({
      ...activities,
      publishChannel: async (request) => {
        const outcome = await publishChannel(request);
        const settle = outcome.status === 'unconfirmed' && settleInDoubt.get(request.postId);
        const settled = settle && (await settle()).body.post.channels[0];
        // Another attempt reports it as published.
        return settled?.url ? publishChannel(request) : outcome;
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

/** Changes of a post in the database. @param run Runs a statement with the id of the post. */
const changesOf = (run: (statement: string) => Promise<unknown>) => ({
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
  const channel_ids = await Promise.all(channels);
  const post = { body: 'Hello', channel_ids, scheduled_at: at(hour) };
  const { id } = (await client.post('/posts', post)).body.post;
  const edit = (change: object) => client.patch(`/posts/${id}`, change);
  const handle = temporal.client.workflow.getHandle(postWorkflowId(id));
  const run = (statement: string, em = orm.em.fork()) =>
    em.execute<Record<string, string | number>[]>(statement, [id]);
  const move = (inMs: number) => edit({ scheduled_at: at(inMs) });
  return {
    client,
    id,
    handle,
    network,
    move,
    run,
    settle: (channel: number, url: string | null) =>
      client.post(`/posts/${id}/settle`, { channel_id: channel_ids[channel], url }),
    /** Gives the first channel another row. */
    renewFirst: async () => {
      await edit({ channel_ids: channel_ids.slice(1) });
      await edit({ channel_ids });
    },
    cancel: () => client.post(`/posts/${id}/cancel`),
    publishHalf: async () => {
      await move(0);
      await poll(
        async () => (await client.get(`/posts/${id}`)).body.post.channels,
        ([first, last]) => first.status === 'published' && last.status === 'retrying',
      );
    },
    ...changesOf(run),
    /** Starts another workflow, as the sweep does, or as a change that the database lost. */
    startAnew: async (lost = 0) => {
      const [row] = await run('select revision from posts where id = ?');
      await syncPost(temporal.client, orm.em.fork(), {
        workspaceId: client.workspaceId,
        postId: id,
        status: 'scheduled',
        revision: Number(row?.['revision']) + lost,
        dueAt: at(lost ? 0 : hour),
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
  test.serial(`a lost result is not sent again: settled at ${settledAt}`, async (t) => {
    const post = await halfPublished('for an hour');
    await post.publishHalf();
    await post.restore(settledAt);
    await post.handle.signal('reschedule', { revision: 99, dueAt: at(0) });

    t.is(await endOf(post.handle), 'post_unconfirmed');
    t.true(await awaitsRestoreFinish(shared().orm));
    t.is(post.sends(), 2);
  });
}

test.serial('a channel whose result was lost is not sent as another row of the post', async (t) => {
  const post = await halfPublished('for an hour');
  const { client, id, network, move, settle } = post;
  await post.publishHalf();
  await post.restore();
  await post.renewFirst();
  await move(0);

  t.is((await client.finalPost(id)).outcome, 'unconfirmed');
  t.is(network.sends.length, 1);

  await shared().orm.em.fork().execute('update installation set behind_since = null');
  await Promise.all([settle(0, null), settle(1, null)]);
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

test.serial('a cancelled run whose result was lost proves an older database', async (t) => {
  const post = await halfPublished('for an hour');
  await post.publishHalf();
  await post.cancel();
  t.is(await post.handle.result(), 'stopped');
  await post.restore();
  await post.scheduleUnnoticed();
  await t.throwsAsync(post.startAnew(), { name: 'DatabaseOlderError' });
});

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
  await t.throwsAsync(post.startAnew(), { name: 'DatabaseOlderError' });
  await post.run("update posts set status = 'failed' where id = ?");
  await post.run("update post_channels set status = 'failed' where post_id = ?");

  await completeRestore(orm, temporal.client, new Date());
  t.is((await post.client.finalPost(post.id)).outcome, 'unconfirmed');
  // A published row that the database lacks.
  await post.run('delete from post_channels where position = 0 and post_id = ?');
  await t.notThrowsAsync(post.startAnew(), 'the alarm is over');
});

test.serial('a lost retry that sent nothing is no sign of a restore', async (t) => {
  const post = await halfPublished('for good');
  await publish(post, (finalize) => finalize());
  await post.startAnew(1);
  t.is(await endOf(post.handle), 'post_partial');
  await post.client.post(`/posts/${post.id}/retry`);

  t.is((await post.client.finalPost(post.id)).outcome, 'published');
  t.false(await awaitsRestoreFinish(shared().orm));
});

test.serial('"restore finish" doubts the channels of an edit under way', async (t) => {
  const { id, run } = await halfPublished('for good');
  const [edit, finish] = [shared().orm.em.fork(), shared().orm.em.fork()] as const;
  await edit.begin();
  await run('select from posts where id = ? for update', edit);
  const finished = finish.transactional((em) =>
    finishRestore(em, { begun: [id], unsent: [], at: new Date() }, 0),
  );
  const waiting = () => edit.execute('select from pg_locks where not granted');
  await poll(waiting, ({ length }) => length > 0);
  await run(
    `with old as (delete from post_channels where post_id = ? returning *)
    insert into post_channels select (jsonb_populate_record(null::post_channels,
      to_jsonb(old) || jsonb_build_object('id', gen_random_uuid()))).* from old`,
    edit,
  );
  await edit.commit();
  await finished;
  const sent = "select from post_channels where status <> 'unconfirmed' and post_id = ?";
  t.deepEqual(await run(sent), []);
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
  const { client, id, network, move, settle } = await halfPublished('for good');
  network.fates.push({ kind: 'vanished' });
  network.blind = cannotTell;
  settleInDoubt.set(id, () => settle(0, null));
  await move(0);

  t.is((await client.finalPost(id)).outcome, 'failed');
  t.false(await awaitsRestoreFinish(shared().orm));
});

test.serial('a settlement of a channel that left the post is no sign of a restore', async (t) => {
  const post = await halfPublished('for an hour');
  const { client, id, network, move, settle } = post;
  network.fates.push({ kind: 'vanished' });
  network.blind = cannotTell;
  settleInDoubt.set(id, () => settle(0, 'https://social.example/1'));
  await post.publishHalf();
  await post.cancel();
  await settle(0, null);
  await post.renewFirst();
  await move(0);

  t.is((await client.finalPost(id)).outcome, 'published');
  t.false(await awaitsRestoreFinish(shared().orm));
});
