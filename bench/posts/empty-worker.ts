import { runEmptyWorker } from '../runner/run-empty-worker.ts';

const nothing = (): Promise<void> => Promise.resolve();

/** Activities of the bare workflows. */
export const emptyActivities = { claim: nothing, step: nothing, finalize: nothing };

// Runs the workflows of `shapes.ts` with activities that do nothing.

await runEmptyWorker(new URL('shapes.ts', import.meta.url), emptyActivities);
process.exit(0);
