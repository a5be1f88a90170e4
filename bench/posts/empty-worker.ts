import { runEmptyWorker } from '../runner/run-empty-worker.ts';

const nothing = (): Promise<void> => Promise.resolve();

/** What the bare workflows call. */
export const emptyActivities = { claim: nothing, step: nothing, finalize: nothing };

// For the workflows of `shapes.ts`, with activities that do nothing.

await runEmptyWorker(new URL('shapes.ts', import.meta.url), emptyActivities);
process.exit(0);
