import { setTimeout as sleep } from 'node:timers/promises';
import { placesPerEndpoint } from '../../domain/endpoint-health.ts';
import { median } from '../quantile.ts';
import { askReceiver, type Received } from './ask-receiver.ts';
import { punctual } from './contenders.ts';
import { seedDeliveries, type Delivery } from './seed.ts';
import { onStand, tellAll, type Stand } from './stand.ts';
import { verdict } from './verdict.ts';
import type { World } from './world.ts';

const [hangingCount, healthyCount] = [100, 20];

/** From Temporal being told of a healthy delivery to its arrival, in milliseconds. */
const targetMs = 1000;

/** How long the bench waits for the healthy ones, in milliseconds. */
const patienceMs = 120_000;

/**
 * Deliveries to an endpoint that never answers, and behind them some to an endpoint of another workspace on the same
 * machine. @returns whether each of those came within the target.
 */
export async function measureIsolation(world: World): Promise<boolean> {
  const { result } = await onStand(world, punctual, deliverBehindHanging);
  const { lags, received } = result;
  const { say } = world.stage;
  const worstMs = Math.max(...lags);
  const { mostSilent } = received;
  say(`\n${hangingCount} deliveries to an endpoint that hangs, then ${healthyCount} to another's:`);
  return [
    verdict(
      say,
      `the slowest of the ${healthyCount} came ${worstMs} ms after Temporal was told of it, half of them within ${median(lags)} ms; the target is ${targetMs} ms for each`,
      worstMs <= targetMs,
    ),
    verdict(
      say,
      `the endpoint that hangs held ${mostSilent} requests at most; it gets ${placesPerEndpoint}`,
      // Had none hung, nothing would have stood in the way.
      mostSilent > 0 && mostSilent <= placesPerEndpoint,
    ),
  ].every(Boolean);
}

async function deliverBehindHanging(
  stand: Stand,
): Promise<{ readonly lags: readonly number[]; readonly received: Received }> {
  const plan = { workspaces: 1, endpoints: 1 };
  const { world } = stand;
  const hanging = { ...plan, deliveries: hangingCount, answer: 'hang' } as const;
  const healthy = { ...plan, deliveries: healthyCount, answer: 'take' } as const;
  const before = await seedDeliveries(world, hanging);
  const behind = await seedDeliveries(world, healthy);
  await tellAll(stand, before);
  const toldMs = await tellAll(stand, behind);
  const received = await untilCame(world, behind);
  const arrivedMs = new Map(received.arrivals);
  const lags = [...toldMs].map(
    ([mark, atMs]) => (arrivedMs.get(mark) ?? Number.POSITIVE_INFINITY) - atMs,
  );
  return { lags, received };
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
