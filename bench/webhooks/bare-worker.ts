import { writeFile } from 'node:fs/promises';
import { runEmptyWorker } from '../runner/run-empty-worker.ts';
import type { Arrive } from './bare-delivery.ts';

// Runs the workflow of `bare-delivery.ts`. Its activity only records when it was called; the record is written at exit.

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
