import type { Run } from '../runner/bench.ts';
import { median } from '../runner/quantile.ts';
import { call } from './load.ts';
import { startProduct, type World } from './world.ts';

/** Maximum median of a filtered list of 1,000,000 posts. */
const targetMs = 50;

const calls = 60;

/** Relative to now, in days. */
const day = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();

const filters = [
  'status=draft',
  'outcome=published&order=asc',
  'tag=t7',
  'q=album',
  'q=b7',
  'q=d7&status=published',
  'tag=t7&q=b7',
  `from=${day(-430)}&to=${day(-400)}`,
  'sort=published_at&status=draft&status=published',
];

/** Measures filtered lists of a workspace with 1,000,000 posts, one call at a time. */
export async function measureFilters(world: World, target: Run<object>['target']): Promise<void> {
  const { origin, part } = await startProduct(world);
  for (const filter of filters) {
    const times: number[] = [];
    for (let turn = 0; turn < calls; turn += 1) {
      const startedMs = performance.now();
      await call(origin, world.large.key, 'GET', `/posts?${filter}`);
      times.push(performance.now() - startedMs);
    }

    const ms = median(times);
    target(
      `GET /posts?${filter}, of 1,000,000: ${ms.toFixed(1)} ms; the target is at most ${targetMs}`,
      ms <= targetMs,
    );
  }

  process.kill(part.pid);
  await part.ended;
}
