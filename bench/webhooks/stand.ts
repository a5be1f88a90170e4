import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { Part } from '../../scripts/parts/part.ts';
import { connectTemporal, type Temporal } from '../../temporal/connect.ts';
import { forEachOf, insistently } from '../whole/for-each-of.ts';
import { startServer, startWorker } from '../whole/start-apart.ts';
import { countClosed, untilClosed } from '../whole/until-closed.ts';
import type { Contender } from './contender.ts';
import type { Delivery } from './seed.ts';
import type { World } from './world.ts';

/** A contender at work. */
export type Stand = {
  readonly world: World;
  readonly contender: Contender;
  readonly temporal: Temporal;
  readonly server: Part;
  readonly worker: Part;
};

/** What the ids of workflows begin with, and how many milliseconds all of them may take. */
const workflowsOfDeliveries = { prefix: 'delivery-', withinMs: 600_000 };

/** In which the code gets hot. */
const warmUpDeliveries = 60;

/**
 * Gives a contender a Temporal server and a worker process of its own, warms them up, and ends them after its work.
 *
 * @returns what came of the work, and the file where the worker may have written what arrived.
 */
export async function onStand<T>(
  world: World,
  contender: Contender,
  work: (stand: Stand) => Promise<T>,
): Promise<{ readonly result: T; readonly arrivalsFile: string }> {
  const arrivalsFile = path.join(world.folder, `arrivals-${randomUUID()}.json`);
  const { part: server, env } = await startServer(world);
  const temporal = connectTemporal(env);
  // The server answers a moment before it knows its namespace.
  await insistently(() => countClosed(temporal, workflowsOfDeliveries.prefix));
  const settings = { ...env, ...contender.workerEnv(world, arrivalsFile) };
  const worker = await startWorker(world, contender, settings);
  const stand = { world, contender, temporal, server, worker };
  try {
    await tellAll(stand, await contender.prepare(world, warmUpDeliveries));
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

/** Waits until so many deliveries have ended besides those of the warm-up. */
export const untilDone = ({ world, temporal }: Stand, deliveries: number): Promise<void> =>
  untilClosed(world.stage, temporal, {
    ...workflowsOfDeliveries,
    workflows: warmUpDeliveries + deliveries,
  });

/** @returns when Temporal was first told of each, in milliseconds since 1970, by its mark. */
export async function tellAll(
  { world, contender, temporal }: Stand,
  deliveries: readonly Delivery[],
): Promise<ReadonlyMap<string, number>> {
  const toldMs = new Map<string, number>();
  await forEachOf(deliveries, (delivery) => {
    toldMs.set(delivery.mark, toldMs.get(delivery.mark) ?? Date.now());
    return contender.tell(world, temporal, delivery);
  });
  return toldMs;
}
