import { ensureSweepSchedule } from '../../worker/schedules.ts';
import { postsQueue, sweepScheduleId } from '../../workflows/messages.ts';
import { startApiProcess } from '../support/api-process.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startApi } from '../support/punctual.ts';
import { freshNamespace, temporalClient } from '../support/temporal.ts';
import { ended, spawnWorker } from '../support/worker-process.ts';

const test = needs('temporal');

/** Temporal's number for a queue of workflow tasks. */
const workflowTasks = 1;

test('a worker on the wrong database polls nothing, and logs the cause', async (t) => {
  const punctual = await startApi(t, {});
  const temporalEnv = await freshNamespace();
  const { client, connection, namespace } = temporalClient(t, temporalEnv, {
    patientTemporal: true,
  });
  const ofAnother = '019a0000-0000-7000-8000-000000000000';
  await ensureSweepSchedule(client, ofAnother);
  const pollers = async () => {
    const taskQueue = { name: postsQueue };
    const request = { namespace, taskQueue, taskQueueType: workflowTasks };
    return (await connection.workflowService.describeTaskQueue(request)).pollers ?? [];
  };

  const worker = spawnWorker(t, { ...punctual, temporalEnv }, []);
  await worker.logged('waiting for Temporal');
  t.regex(worker.output(), /belongs to another database/v);
  t.deepEqual(await pollers(), []);
  const schedule = client.schedule.getHandle(sweepScheduleId);
  t.like((await schedule.describe()).action, { memo: { installation: ofAnother } });

  await schedule.delete(); // The operator confirms that the other database is gone.
  await worker.logged('polling');
  await poll(pollers, (found) => found.length > 0);
  await schedule.delete();
});

test('an API whose posts would go to workers of another database exits, and logs the cause', async (t) => {
  const punctual = await startApi(t, {});
  const temporalEnv = await freshNamespace();
  const { client } = temporalClient(t, temporalEnv, { patientTemporal: true });
  await ensureSweepSchedule(client, '019a0000-0000-7000-8000-000000000000');
  const api = await startApiProcess(t, {
    ...temporalEnv,
    DATABASE_URL: punctual.databaseUrl,
    SECRET_KEY: punctual.secretKey,
  });
  await ended(api.child);

  t.is(api.child.exitCode, 1);
  t.regex(api.log(), /belongs to another database of Punctual/v);
  await client.schedule.getHandle(sweepScheduleId).delete();
});
