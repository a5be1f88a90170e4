import { quantile } from '../quantile.ts';
import { costsOf, peakMiB, spent, type Costs } from '../whole/cost.ts';
import type { Arrivals, Contender } from './contender.ts';
import { onStand, tellAll, untilDone, type Stand } from './stand.ts';
import type { World } from './world.ts';

export type Measured = {
  readonly deliveries: number;
  /** From the first that Temporal was told of to the last arrival. */
  readonly perSecond: number;
  /** From Temporal being told of a delivery to its arrival, in milliseconds. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** How long telling of all of them took, in milliseconds. */
  readonly tellingMs: number;
  /** Processor time in seconds, from the first that Temporal was told of until all workflows were done. */
  readonly cpu: Costs<'worker' | 'temporal' | 'postgres' | 'receiver'>;
  /** The same of this process, which tells of them. */
  readonly tellingCpu: number;
  readonly workerPeakMiB: number;
};

/** One contender and so many deliveries, of which Temporal is told as fast as it takes them. */
export async function measure(
  world: World,
  contender: Contender,
  count: number,
): Promise<Measured> {
  const { result, arrivalsFile } = await onStand(world, contender, (stand) => run(stand, count));
  const { toldMs, ...measured } = result;
  const arrivals = await contender.arrivals(world, arrivalsFile);
  return { ...measured, ...timesOf(toldMs, arrivals) };
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
  const toldMs = await tellAll(stand, deliveries);
  const { user, system } = process.cpuUsage(ownBefore);
  const tellingMs = performance.now() - beganMs;
  await untilDone(stand, count);
  const cpu = spent(await costsOf(pids), before);
  await contender.mustBeDone(world, deliveries);
  const workerPeakMiB = await peakMiB(worker.pid);
  const tellingCpu = (user + system) / 1e6;
  return { deliveries: count, toldMs, tellingMs, cpu, tellingCpu, workerPeakMiB };
}

/** @throws Error when one did not come, or came twice. */
function timesOf(
  toldMs: ReadonlyMap<string, number>,
  arrivals: Arrivals,
): Pick<Measured, 'perSecond' | 'p50Ms' | 'p99Ms'> {
  const own = arrivals.filter(([mark]) => toldMs.has(mark));
  const arrivedMs = new Map(own);
  if (own.length !== toldMs.size || arrivedMs.size !== toldMs.size) {
    throw new Error(
      `Of ${toldMs.size} deliveries ${arrivedMs.size} came, in ${own.length} requests.`,
    );
  }

  const lags = own.map(([mark, atMs]) => atMs - (toldMs.get(mark) ?? Number.NaN));
  const spanMs = Math.max(...arrivedMs.values()) - Math.min(...toldMs.values());
  return {
    perSecond: (toldMs.size * 1000) / spanMs,
    p50Ms: quantile(lags, 0.5),
    p99Ms: quantile(lags, 0.99),
  };
}
