import { setTimeout as sleep } from 'node:timers/promises';
import { slotsPerEndpoint } from '../../domain/webhook-deliveries.ts';
import type { Run } from '../runner/bench.ts';
import { median } from '../runner/quantile.ts';
import { punctual } from './contenders.ts';
import { onStand, startAll, type Stand } from './measure.ts';
import { seedDeliveries, type Delivery } from './seed.ts';
import { askReceiver, type Received, type World } from './world.ts';

const [hangingCount, healthyCount] = [100, 20];

/** The longest acceptable time from the start of a healthy delivery's workflow to its arrival, in milliseconds. */
const targetMs = 1000;

/** Longest wait for the healthy deliveries, in milliseconds. */
const patienceMs = 120_000;

/** By then, all deliveries to the hung endpoint have looked for a slot and found none. In milliseconds. */
const settledAfterMs = 2000;

/**
 * Measures deliveries to a healthy endpoint: alone, right behind those to another workspace's hung endpoint, and while
 * that endpoint hangs; all on the same machine.
 */
export async function measureIsolation(
  world: World,
  target: Run<unknown>['target'],
): Promise<void> {
  const { result } = await onStand(world, punctual, deliverBesideHanging);
  const { alone, behind, meanwhile, mostSilent } = result;
  const { say } = world.stage;
  say(`\n${healthyCount} deliveries alone: ${lagsIn(alone)}`);
  say(
    `\n${hangingCount} deliveries to a hung endpoint, and ${healthyCount} to another workspace's:`,
  );
  const within = (when: string, lags: Lags): void =>
    target(
      `${when}, ${lagsIn(lags)}; the target is ${targetMs} ms for each`,
      Math.max(...lags) <= targetMs,
    );
  within(`started together with the ${hangingCount}`, behind);
  within('started while it hangs', meanwhile);
  target(
    `the hung endpoint held at most ${mostSilent} requests; it has ${slotsPerEndpoint} slots`,
    // Without a hung request, nothing would have been in the way.
    mostSilent > 0 && mostSilent <= slotsPerEndpoint,
  );
}

const lagsIn = (lags: readonly number[]): string =>
  `the slowest took ${Math.max(...lags)} ms, half took at most ${median(lags)} ms`;

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

/** Starts workflows and waits until the deliveries have arrived. @returns the time of each, in milliseconds. */
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

/** @returns the arrivals when all have arrived, or the time is up. */
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
