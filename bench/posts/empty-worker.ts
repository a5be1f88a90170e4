import { runEmptyWorker } from '../whole/run-empty-worker.ts';
import { emptyActivities } from './empty-activities.ts';

// For the workflows of `shapes.ts`, with activities that do nothing.

await runEmptyWorker(new URL('shapes.ts', import.meta.url), emptyActivities);
process.exit(0);
