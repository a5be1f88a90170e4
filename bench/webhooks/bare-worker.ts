import { writeFile } from 'node:fs/promises';
import { runEmptyWorker } from '../runner/run-empty-worker.ts';
import type { Arrive } from './bare-delivery.ts';

// For the workflow of `bare-delivery.ts`. Its activity does nothing but keep in mind when it was called, which is
// written down when this process ends.

const arrivals: [string, number][] = [];

const activities: Arrive = {
  arrive: ({ deliveryId }) => {
    arrivals.push([deliveryId, Date.now()]);
    return Promise.resolve('delivered');
  },
};

await runEmptyWorker(new URL('bare-delivery.ts', import.meta.url), activities);
await writeFile(process.env['BENCH_ARRIVALS'] ?? '', JSON.stringify(arrivals));
process.exit(0);
