import { setTimeout as sleep } from 'node:timers/promises';
import { webhooksQueue } from '../../workflows/messages.ts';
import type { Run } from '../runner/bench.ts';
import { costsOf, spent } from '../runner/processor-time.ts';
import { punctual } from './contenders.ts';
import { onStand, startAll, type Stand } from './measure.ts';
import { seedDeliveries } from './seed.ts';
import type { World } from './world.ts';

export type HungPlan = {
  /** Number of endpoints that never respond, each of its own workspace. */
  readonly endpoints: number;
  /** Number of deliveries to each. */
  readonly waiting: number;
};

/** Acceptable processor use of worker, Temporal and PostgreSQL together, in cores. */
const targetCores = 0.3;

/**
 * Wait after the first check of all deliveries, in milliseconds. By then, those that checked before the endpoints were
 * known to hang have checked again.
 */
const settledAfterMs = 120_000;

/**
 * As long as the sweep takes to check every waiting delivery once, in a burst of some 15 s: a rest of 2 min and a
 * minute.
 */
const measuredMs = 180_000;

/**
 * Measures the processor use of hung endpoints while nothing is delivered: first one, then many more in the same run.
 */
export async function measureHung(
  world: World,
  plan: HungPlan,
  target: Run<unknown>['target'],
): Promise<void> {
  const { endpoints, waiting } = plan;
  const { say } = world.stage;
  say(`\nHung endpoints, with ${waiting} deliveries each that wait for slots:`);
  const { result } = await onStand(world, punctual, async (stand) => {
    await hang(stand, { endpoints: 1, waiting });
    const one = await coresOf(stand);
    await hang(stand, { endpoints: endpoints - 1, waiting });
    return { one, many: await coresOf(stand) };
  });
  say(`one: ${inCores(result.one)}`);
  const total = sum(result.many);
  target(
    `${endpoints}: ${inCores(result.many)}; the target is ${targetCores} in all`,
    total <= targetCores,
  );
}

async function hang(stand: Stand, { endpoints, waiting }: HungPlan): Promise<void> {
  const deliveries = await seedDeliveries(stand.world, {
    workspaces: endpoints,
    endpoints: 1,
    deliveries: endpoints * waiting,
    answer: 'hang',
  });
  await startAll(stand, deliveries);
  await untilTaken(stand);
  await sleep(settledAfterMs, undefined, { signal: stand.world.stage.signal });
}

/** Temporal's numbers for workflow tasks and activity tasks. */
const taskTypes = [1, 2] as const;

/** Interval between two checks of the queue, in milliseconds. */
const backlogPollMs = 5000;

/**
 * Waits until the worker has taken all tasks of its queue: thousands of starts take less time than their first checks.
 */
async function untilTaken({ world: { stage }, temporal }: Stand): Promise<void> {
  const { connection, namespace } = temporal;
  const backlogOf = async (taskQueueType: (typeof taskTypes)[number]): Promise<number> => {
    const taskQueue = { name: webhooksQueue };
    const { stats } = await connection.workflowService.describeTaskQueue({
      namespace,
      taskQueue,
      taskQueueType,
      reportStats: true,
    });
    return Number(stats?.approximateBacklogCount ?? 0);
  };
  for (let backlog = 1; backlog > 0;) {
    await sleep(backlogPollMs, undefined, { signal: stage.signal });
    const counts = await Promise.all(taskTypes.map(backlogOf));
    backlog = counts.reduce((sum, count) => sum + count, 0);
    stage.say(`  ${backlog} tasks are waiting for the worker`);
  }
}

type Cores = Readonly<Record<'worker' | 'temporal' | 'postgres', number>>;

async function coresOf({ world, worker, server }: Stand): Promise<Cores> {
  const pids = { worker: [worker.pid], temporal: [server.pid], postgres: [world.postgresPid] };
  const before = await costsOf(pids);
  const beganMs = performance.now();
  await sleep(measuredMs, undefined, { signal: world.stage.signal });
  const seconds = (performance.now() - beganMs) / 1000;
  const cpu = spent(await costsOf(pids), before);
  return {
    worker: cpu.worker / seconds,
    temporal: cpu.temporal / seconds,
    postgres: cpu.postgres / seconds,
  };
}

const sum = ({ worker, temporal, postgres }: Cores): number => worker + temporal + postgres;

const inCores = (cores: Cores): string =>
  `${sum(cores).toFixed(2)} cores (worker ${cores.worker.toFixed(2)}, Temporal ${cores.temporal.toFixed(2)}, PostgreSQL ${cores.postgres.toFixed(2)})`;
