import type { ExecutionContext } from 'ava';
import type { Orm } from '../../db/orm.ts';
import {
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
import { fakeNetwork, fakeNetworks } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers } from '../support/punctual.ts';
import { fakeChannel } from '../support/seed.ts';
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

  const counts = await Promise.all([1, 2, 3].map(() => incrementRestoreCounter(orm, 5)));
  t.is(counts.filter((count) => count !== null).join(), '6');

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

/** A late post that waits for its turn, as `restore finish` finds it, on a database that is known to be older. */
async function waitingPost(t: ExecutionContext) {
  const punctual = await startApi(t, { networks: fakeNetworks });
  const stop = await startWorkers(t, punctual);
  const client = await newClient(punctual);
  const network = fakeNetwork();
  const channel = await fakeChannel(punctual, client.workspaceId, network);
  const set = (change: string) => punctual.orm.em.fork().execute(`update ${change}`);
  await set("channels set parked_until = now() + interval '1 hour'");
  const scheduled_at = new Date().toISOString();
  const post = { body: 'waited', channel_ids: [channel], scheduled_at };
  const { id } = (await client.post('/posts', post)).body.post;
  const statusOf = async () => (await client.get(`/posts/${id}`)).body.post.channels[0].status;
  await poll(statusOf, (status) => status === 'retrying');
  await stop();
  await set('channels set parked_until = null');
  await set('installation set behind_since = now(), beat_at = now()');
  const finish = async (...flags: string[]) =>
    (await adminOf(punctual).call('restore', 'finish', ...flags)).data;
  const end = async () => {
    await startWorkers(t, punctual);
    const { outcome, status } = await client.finalPost(id);
    return { outcome: outcome ?? status, sends: network.sends.length };
  };
  return { scheduled_at, finish, end };
}

test('a late post that only waited for its turn goes out after "restore finish", without a person', async (t) => {
  t.timeout(300_000);
  const { finish, end } = await waitingPost(t);
  t.like(await finish(), { unconfirmedChannels: 0, syncedPosts: 1 });
  t.deepEqual(await end(), { outcome: 'published', sends: 1 });
});

test('after "restore finish --since" no late post goes out: Temporal may have been restored to before its send', async (t) => {
  t.timeout(300_000);
  const { scheduled_at, finish, end } = await waitingPost(t);
  t.like(await finish('--since', scheduled_at), { unconfirmedChannels: 1, syncedPosts: 0 });
  t.deepEqual(await end(), { outcome: 'unconfirmed', sends: 0 });
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
