import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { ProcessPart } from '../../scripts/parts/part.ts';
import { connectTemporal, type Temporal } from '../../temporal/connect.ts';
import { startTemporalServer, startWorker } from '../runner/processes.ts';
import { type Costs, costsOf, peakMiB, spent } from '../runner/processor-time.ts';
import { quantile } from '../runner/quantile.ts';
import { countClosed, forEachOf, withRetries, untilClosed } from '../runner/workflows.ts';
import type { Arrivals, Contender } from './contenders.ts';
import type { Delivery } from './seed.ts';
import type { World } from './world.ts';

export type Measured = {
  readonly deliveries: number;
  /** From the first workflow's start to the last arrival. */
  readonly perSecond: number;
  /** From the start of a delivery's workflow to its arrival, in milliseconds. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Duration of all starts, in milliseconds. */
  readonly startingMs: number;
  /** Processor time in seconds, from the first workflow's start until all workflows were done. */
  readonly cpu: Costs<'worker' | 'temporal' | 'postgres' | 'receiver'>;
  /** The same for this process, which starts them. */
  readonly startingCpu: number;
  readonly workerPeakMiB: number;
};

/** Measures a contender with this many deliveries, whose workflows are started as fast as Temporal accepts them. */
export async function measure(
  world: World,
  contender: Contender,
  count: number,
): Promise<Measured> {
  const { result, arrivalsFile } = await onStand(world, contender, (stand) => run(stand, count));
  const { startedMs, ...measured } = result;
  const arrivals = await contender.arrivals(world, arrivalsFile);
  return { ...measured, ...timesOf(startedMs, arrivals) };
}

async function run(stand: Stand, count: number) {
  const { world, contender, worker, server } = stand;
  const deliveries = await contender.prepare(world, count);
  const pids = {
    worker: [worker.pid],
    temporal: [server.pid],
    postgres: [world.postgresPid],
    receiver: [world.receiver.pid],
  };
  const before = await costsOf(pids);
  const beganMs = performance.now();
  const ownBefore = process.cpuUsage();
  const startedMs = await startAll(stand, deliveries);
  const { user, system } = process.cpuUsage(ownBefore);
  const startingMs = performance.now() - beganMs;
  await untilDone(stand, count);
  const cpu = spent(await costsOf(pids), before);
  await contender.assertDone(world, deliveries);
  const workerPeakMiB = await peakMiB(worker.pid);
  const startingCpu = (user + system) / 1e6;
  return { deliveries: count, startedMs, startingMs, cpu, startingCpu, workerPeakMiB };
}

/** @throws Error when a delivery did not arrive, or arrived twice. */
function timesOf(
  startedMs: ReadonlyMap<string, number>,
  arrivals: Arrivals,
): Pick<Measured, 'perSecond' | 'p50Ms' | 'p99Ms'> {
  const own = arrivals.filter(([mark]) => startedMs.has(mark));
  const arrivedMs = new Map(own);
  if (own.length !== startedMs.size || arrivedMs.size !== startedMs.size) {
    throw new Error(
      `Of ${startedMs.size} deliveries, ${arrivedMs.size} arrived, in ${own.length} requests.`,
    );
  }

  const lags = own.map(([mark, atMs]) => atMs - (startedMs.get(mark) ?? Number.NaN));
  const spanMs = Math.max(...arrivedMs.values()) - Math.min(...startedMs.values());
  return {
    perSecond: (startedMs.size * 1000) / spanMs,
    p50Ms: quantile(lags, 0.5),
    p99Ms: quantile(lags, 0.99),
  };
}

/** A running contender. */
export type Stand = {
  readonly world: World;
  readonly contender: Contender;
  readonly temporal: Temporal;
  readonly server: ProcessPart;
  readonly worker: ProcessPart;
};

/** Prefix of the workflow ids, and the time limit for all of them. */
const workflowsOfDeliveries = { prefix: 'delivery-', withinMs: 600_000 };

/** Deliveries that warm up the code. */
const warmUpDeliveries = 60;

/**
 * Starts a Temporal server and a worker process for a contender, warms them up, and ends them after the work.
 *
 * @returns the result of the work, and the file in which the worker may have recorded arrivals.
 */
export async function onStand<T>(
  world: World,
  contender: Contender,
  work: (stand: Stand) => Promise<T>,
): Promise<{ readonly result: T; readonly arrivalsFile: string }> {
  const arrivalsFile = path.join(world.folder, `arrivals-${randomUUID()}.json`);
  const { part: server, env } = await startTemporalServer(world);
  const temporal = connectTemporal(env);
  // The server responds shortly before its namespace exists.
  await withRetries(() => countClosed(temporal, workflowsOfDeliveries.prefix));
  const settings = { ...env, ...contender.workerEnv(world, arrivalsFile) };
  const worker = await startWorker(world, contender, settings);
  const stand = { world, contender, temporal, server, worker };
  try {
    await startAll(stand, await contender.prepare(world, warmUpDeliveries));
    await untilDone(stand, 0);
    return { result: await work(stand), arrivalsFile };
  } finally {
    await temporal.close();
    for (const part of [worker, server]) {
      process.kill(part.pid, 'SIGTERM');
      await part.ended;
    }
  }
}

/** Waits until this many deliveries have ended, besides those of the warm-up. */
const untilDone = ({ world, temporal }: Stand, deliveries: number): Promise<void> =>
  untilClosed(world.stage, temporal, {
    ...workflowsOfDeliveries,
    workflows: warmUpDeliveries + deliveries,
  });

/** @returns the time of the first start request of each workflow, in milliseconds since 1970, by mark. */
export async function startAll(
  { world, contender, temporal }: Stand,
  deliveries: readonly Delivery[],
): Promise<ReadonlyMap<string, number>> {
  const startedMs = new Map<string, number>();
  await forEachOf(deliveries, (delivery) => {
    startedMs.set(delivery.mark, startedMs.get(delivery.mark) ?? Date.now());
    return contender.start(world, temporal, delivery);
  });
  return startedMs;
}
