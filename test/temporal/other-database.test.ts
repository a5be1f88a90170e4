import { ensureSweepSchedule } from '../../worker/sweep-schedule.ts';
import { postsQueue, sweepScheduleId } from '../../workflows/messages.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startApi } from '../support/punctual.ts';
import { freshNamespace, temporalClient } from '../support/temporal.ts';
import { spawnWorker } from '../support/worker-process.ts';

const test = needs('temporal');

/** Temporal's own number for a queue of workflow tasks. */
const workflowTasks = 1;

test('a worker on the wrong database takes nothing from the right one’s workers, and says what is wrong', async (t) => {
  const punctual = await startApi(t, {});
  const temporalEnv = await freshNamespace();
  const { client, connection, namespace } = temporalClient(t, temporalEnv);
  const ofAnother = '019a0000-0000-7000-8000-000000000000';
  await ensureSweepSchedule(client, ofAnother);
  const pollers = async () => {
    const taskQueue = { name: postsQueue };
    const request = { namespace, taskQueue, taskQueueType: workflowTasks };
    return (await connection.workflowService.describeTaskQueue(request)).pollers ?? [];
  };

  const worker = spawnWorker(t, { ...punctual, temporalEnv }, []);
  await worker.said('waiting for Temporal');
  t.regex(worker.output(), /belongs to another database/v);
  t.deepEqual(await pollers(), []);
  const schedule = client.schedule.getHandle(sweepScheduleId);
  t.like((await schedule.describe()).action, { memo: { installation: ofAnother } });

  await schedule.delete(); // The operator says that the other one is gone.
  await worker.said('polling');
  await poll(pollers, (found) => found.length > 0);
  await schedule.delete();
});
