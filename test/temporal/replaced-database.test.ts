import type { Orm } from '../../db/orm.ts';
import {
  duePosts,
  finishRestore,
  incrementRestoreCounter,
  markDatabaseBehind,
  readRestoreCounter,
} from '../../db/restore-counter.ts';
import { loadStoredCounter, storeCounter } from '../../temporal/namespace.ts';
import { ensureSchedule, sweepSchedule } from '../../worker/schedules.ts';
import { postsQueue, postWorkflowId, sweepScheduleId } from '../../workflows/messages.ts';
import { adminOf } from '../cli/admin/admin.ts';
import { startApiProcess } from '../support/api-process.ts';
import { newClient } from '../support/client.ts';
import { needs } from '../support/needs.ts';
import { fails, fakeNetwork, fakeNetworks } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers } from '../support/punctual.ts';
import { fakeChannel, storeChannel } from '../support/seed.ts';
import { freshNamespace, temporalClient } from '../support/temporal.ts';
import { ended, spawnWorker } from '../support/worker-process.ts';

const test = needs('temporal');

const setCount = (orm: Orm, count: number) =>
  orm.em.fork().execute('update installation set beats = ?, beat_at = null', [count]);

test('a database is behind only if it lacks more than one beat', async (t) => {
  const { orm } = await startApi(t);
  await setCount(orm, 5);

  // As after a failover that lost the last seconds, or while another worker counts during the comparison.
  await markDatabaseBehind(orm, 6);
  t.is((await readRestoreCounter(orm)).behindSince, null);

  await markDatabaseBehind(orm, 7);
  t.not((await readRestoreCounter(orm)).behindSince, null);
});

test('of concurrent workers one counts a beat, and none after the database was replaced', async (t) => {
  const { orm } = await startApi(t);
  await setCount(orm, 5);

  const counts = await Promise.all(
    Array.from({ length: 5 }, () => incrementRestoreCounter(orm, 5)),
  );
  t.deepEqual(
    counts.filter((count) => count !== null),
    [6],
  );

  await setCount(orm, 2);
  t.is(await incrementRestoreCounter(orm, 6), null);
  t.is((await readRestoreCounter(orm)).count, 2);
});

test('the count in Temporal never decreases, and is lost with its namespace', async (t) => {
  const settings = await freshNamespace();
  const { client } = temporalClient(t, settings);
  t.is(await loadStoredCounter(client, 'ours'), null);
  await storeCounter(client, 'ours', 7);
  t.is(await loadStoredCounter(client, 'ours'), 7);

  await storeCounter(client, 'ours', 6);
  t.is(await loadStoredCounter(client, 'ours'), 7);

  t.is(await loadStoredCounter(client, 'another database'), null);
});

test('a late post that only waited for its turn goes out after "restore finish", without a person', async (t) => {
  t.timeout(300_000);
  const punctual = await startApi(t, { networks: fakeNetworks });
  const stop = await startWorkers(t, punctual);
  const client = await newClient(punctual);
  const network = fakeNetwork();
  const channel = await fakeChannel(punctual, client.workspaceId, network);
  const park = (until: string) =>
    punctual.orm.em.fork().execute(`update channels set parked_until = ${until}`);
  await park("now() + interval '1 hour'");
  const scheduled_at = new Date().toISOString();
  const post = { body: 'waited', channel_ids: [channel], scheduled_at };
  const { id } = (await client.post('/posts', post)).body.post;
  const statusOf = async () => (await client.get(`/posts/${id}`)).body.post.channels[0].status;
  await poll(statusOf, (status) => status === 'retrying');
  await stop();
  await park('null');

  const { data } = await adminOf(punctual).call('restore', 'finish', '--since', scheduled_at);
  t.like(data, { unconfirmedChannels: 0, syncedPosts: 1 });
  await startWorkers(t, punctual);
  t.is((await client.finalPost(id)).status, 'published');
  t.is(network.sends.length, 1);
});

test('"restore finish" leaves a draft that was cancelled before it was sent, and counts nothing twice', async (t) => {
  t.timeout(300_000);
  const punctual = await startApi(t, { networks: fakeNetworks });
  await startWorkers(t, punctual);
  const client = await newClient(punctual);
  const channel = await fakeChannel(punctual, client.workspaceId, fakeNetwork());
  const since = new Date().toISOString();
  const make = async (schedule: object): Promise<string> =>
    (await client.post('/posts', { body: 'x', channel_ids: [channel], ...schedule })).body.post.id;
  const [cancelled, sent, lacked] = [
    await make({ schedule_in_minutes: 60 }),
    await make({ schedule_in_minutes: 0 }),
    await make({ schedule_in_minutes: 0 }),
  ];
  await client.finalPost(sent);
  await client.finalPost(lacked);
  await client.post(`/posts/${cancelled}/cancel`);
  for (const id of [cancelled, sent, lacked]) {
    await punctual.temporal.client.workflow.getHandle(postWorkflowId(id)).result();
  }
  // As in a backup before the send.
  const em = punctual.orm.em.fork();
  await em.execute(`update posts set status = 'scheduled' where id = ?`, [sent]);
  await em.execute(`update post_channels set status = 'scheduled' where post_id = ?`, [sent]);
  t.is((await client.delete(`/posts/${lacked}`)).status, 200);

  const finish = async () =>
    (await adminOf(punctual).call('restore', 'finish', '--since', since)).data;
  t.like(await finish(), { unconfirmedChannels: 1, lackedPosts: 1 });
  t.like(await finish(), { unconfirmedChannels: 0, lackedPosts: 1 });
  t.is((await client.get(`/posts/${cancelled}`)).body.post.status, 'draft');
  t.is((await client.get(`/posts/${sent}`)).body.post.outcome, 'unconfirmed');
});

test('a post that becomes due while "restore finish" reads the workflows stays scheduled', async (t) => {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const channel = await storeChannel(punctual, client.workspaceId);
  const em = punctual.orm.em.fork();
  const { due, at } = await duePosts(em);
  t.is(due.size, 0);
  await client.post('/posts', { body: 'due', channel_ids: [channel], schedule_in_minutes: 0 });
  t.is((await duePosts(em)).due.size, 1);

  const finished = await finishRestore(em, { begun: [], unsent: [], at }, 0);
  t.like(finished, { unconfirmedChannels: 0, syncedPosts: 1 });
});

test('"restore finish" leaves a plain refusal and a channel in doubt as they were, and doubts what was retried since', async (t) => {
  t.timeout(300_000);
  const punctual = await startApi(t, { networks: fakeNetworks });
  await startWorkers(t, punctual);
  const client = await newClient(punctual);
  const [network, other] = [fakeNetwork(), fakeNetwork()];
  const channel = await fakeChannel(punctual, client.workspaceId, network);
  const both = [channel, await fakeChannel(punctual, client.workspaceId, other)];
  const since = new Date().toISOString();
  const send = async (channel_ids: string[]): Promise<string> => {
    const { id } = (await client.post('/posts', { body: 'x', channel_ids, schedule_in_minutes: 0 }))
      .body.post;
    await client.finalPost(id);
    return id;
  };
  network.fates.push(fails('content_refused'), fails('content_refused'));
  const [refused, retried] = [await send([channel]), await send([channel])];
  const sent = await send(both);
  const handleOf = (id: string) => punctual.temporal.client.workflow.getHandle(postWorkflowId(id));
  await Promise.allSettled([refused, retried, sent].map((id) => handleOf(id).result()));
  const em = punctual.orm.em.fork();
  const backUp = `create table backed_up as select * from post_channels where post_id = ?`;
  await em.execute(backUp, [retried]);
  await client.post(`/posts/${retried}/retry`);
  await client.finalPost(retried);
  await handleOf(retried).result();
  // As in a backup before the retry, and before the send on the other channel.
  await em.execute(`update post_channels pc set status = was.status, error = was.error, error_code = was.error_code
    from backed_up was where was.id = pc.id`);
  await em.execute(`update posts set status = 'failed', revision = 1, run = 1 where id = ?`, [
    retried,
  ]);
  await em.execute(`update posts set status = 'publishing' where id = ?`, [sent]);
  await em.execute(
    `update post_channels set status = case channel_id when ? then 'unconfirmed' else 'scheduled' end,
      error = 'Its reason.', error_code = 'unconfirmed' where post_id = ?`,
    [channel, sent],
  );

  const { data } = await adminOf(punctual).call('restore', 'finish', '--since', since);
  t.like(data, { unconfirmedChannels: 2 });
  const channelsOf = async (id: string): Promise<{ status: string; error: string }[]> =>
    (await client.get(`/posts/${id}`)).body.post.channels;
  t.like((await channelsOf(refused))[0], { status: 'failed', error_code: 'content_refused' });
  t.like((await channelsOf(retried))[0], { status: 'unconfirmed', error_code: 'unconfirmed' });
  const [kept, doubted] = await channelsOf(sent);
  t.like(kept, { status: 'unconfirmed', error: 'Its reason.' });
  t.like(doubted, { status: 'unconfirmed' });
  t.regex(doubted?.error ?? '', /restored from a backup/v);
});

/** Temporal's number for a queue of workflow tasks. */
const workflowTasks = 1;

test('a worker on the wrong database polls nothing, and exits with the cause', async (t) => {
  const punctual = await startApi(t, {});
  const temporalEnv = await freshNamespace();
  const { client, connection, namespace } = temporalClient(t, temporalEnv);
  const ofAnother = '019a0000-0000-7000-8000-000000000000';
  await ensureSchedule(client, sweepSchedule, ofAnother);
  const pollers = async () => {
    const taskQueue = { name: postsQueue };
    const request = { namespace, taskQueue, taskQueueType: workflowTasks };
    return (await connection.workflowService.describeTaskQueue(request)).pollers ?? [];
  };

  const worker = spawnWorker(t, { ...punctual, temporalEnv }, []);
  await ended(worker.child);
  t.is(worker.child.exitCode, 1);
  t.regex(worker.output(), /belongs to another database of Punctual/v);
  t.deepEqual(await pollers(), []);
  const schedule = client.schedule.getHandle(sweepScheduleId);
  t.like((await schedule.describe()).action, { memo: { installation: ofAnother } });

  await schedule.delete(); // The operator confirms that the other database is gone.
  await spawnWorker(t, { ...punctual, temporalEnv }, []).logged('polling');
  await poll(pollers, (found) => found.length > 0);
  await schedule.delete();
});

test('an API whose posts would go to workers of another database exits, and logs the cause', async (t) => {
  const punctual = await startApi(t, {});
  const temporalEnv = await freshNamespace();
  const { client } = temporalClient(t, temporalEnv);
  await ensureSchedule(client, sweepSchedule, '019a0000-0000-7000-8000-000000000000');
  const api = await startApiProcess(t, {
    ...temporalEnv,
    DATABASE_URL: punctual.databaseUrl,
    SECRET_KEY: punctual.secretKey,
  });
  await ended(api.child);

  t.is(api.child.exitCode, 1);
  // Its last output may arrive after its end.
  await poll(api.log, (log) => log.includes('belongs to another database of Punctual'));
  await client.schedule.getHandle(sweepScheduleId).delete();
});
