import { runWorker } from './run-worker.ts';

await runWorker();
process.exit(0);
