import { setTimeout as sleep } from 'node:timers/promises';
import { slotsPerEndpoint } from '../../domain/webhook-deliveries.ts';
import type { Run } from '../runner/bench.ts';
import { median } from '../runner/quantile.ts';
import { punctual } from './contenders.ts';
import { onStand, startAll, type Stand } from './measure.ts';
import { seedDeliveries, type Delivery } from './seed.ts';
import { askReceiver, type Received, type World } from './world.ts';

const [hangingCount, healthyCount] = [100, 20];

/** From the start of a healthy delivery's workflow to its arrival, in milliseconds. */
const targetMs = 1000;

/** How long the bench waits for the healthy ones, in milliseconds. */
const patienceMs = 120_000;

/** From then on all that wait for the endpoint that hangs have looked for a place and found none. In milliseconds. */
const settledAfterMs = 2000;

/**
 * Deliveries to a healthy endpoint, as many to one of another workspace right behind those to an endpoint that never
 * answers, and some more while that hangs; all on the same machine.
 */
export async function measureIsolation(
  world: World,
  target: Run<unknown>['target'],
): Promise<void> {
  const { result } = await onStand(world, punctual, deliverBesideHanging);
  const { alone, behind, meanwhile, mostSilent } = result;
  const { say } = world.stage;
  say(`\n${healthyCount} deliveries and nothing else: ${lagsIn(alone)}`);
  say(`\n${hangingCount} deliveries to an endpoint that hangs, and ${healthyCount} to another's:`);
  const within = (when: string, lags: Lags): void =>
    target(
      `${when}, ${lagsIn(lags)}; the target is ${targetMs} ms for each`,
      Math.max(...lags) <= targetMs,
    );
  within(`started together with the ${hangingCount}`, behind);
  within('started while it hangs', meanwhile);
  target(
    `the endpoint that hangs held ${mostSilent} requests at most; it gets ${slotsPerEndpoint}`,
    // Had none hung, nothing would have stood in the way.
    mostSilent > 0 && mostSilent <= slotsPerEndpoint,
  );
}

const lagsIn = (lags: readonly number[]): string =>
  `the slowest came after ${Math.max(...lags)} ms, half of them within ${median(lags)} ms`;

type Lags = readonly number[];

type Result = {
  readonly alone: Lags;
  readonly behind: Lags;
  readonly meanwhile: Lags;
  readonly mostSilent: number;
};

async function deliverBesideHanging(stand: Stand): Promise<Result> {
  const plan = { workspaces: 1, endpoints: 1 };
  const { world } = stand;
  const hanging = await seedDeliveries(world, {
    ...plan,
    deliveries: hangingCount,
    answer: 'hang',
  });
  const healthy = { ...plan, deliveries: healthyCount, answer: 'take' } as const;
  const [control, first, second] = [
    await seedDeliveries(world, healthy),
    await seedDeliveries(world, healthy),
    await seedDeliveries(world, healthy),
  ];
  const { lags: alone } = await deliver(stand, control);
  await sleep(settledAfterMs);
  await startAll(stand, hanging);
  const { lags: behind } = await deliver(stand, first);
  await sleep(settledAfterMs);
  const { lags: meanwhile, mostSilent } = await deliver(stand, second);
  return { alone, behind, meanwhile, mostSilent };
}

/** Starts the workflows of these, and waits until they have come. @returns how long that took of each, in milliseconds. */
async function deliver(
  stand: Stand,
  deliveries: readonly Delivery[],
): Promise<{ readonly lags: Lags; readonly mostSilent: number }> {
  const startedMs = await startAll(stand, deliveries);
  const { arrivals, mostSilent } = await untilCame(stand.world, deliveries);
  const arrivedMs = new Map(arrivals);
  const lags = [...startedMs].map(
    ([mark, atMs]) => (arrivedMs.get(mark) ?? Number.POSITIVE_INFINITY) - atMs,
  );
  return { lags, mostSilent };
}

/** @returns what has come when all of them have, or the bench has waited long enough. */
async function untilCame(
  { receiver, stage }: World,
  deliveries: readonly Delivery[],
): Promise<Received> {
  const endMs = Date.now() + patienceMs;
  for (;;) {
    stage.signal.throwIfAborted();
    const received = await askReceiver(receiver.url);
    const marks = new Set(received.arrivals.map(([mark]) => mark));
    if (deliveries.every(({ mark }) => marks.has(mark)) || Date.now() > endMs) {
      return received;
    }

    await sleep(200);
  }
}
