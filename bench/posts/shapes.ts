import { proxyActivities, proxyLocalActivities, sleep } from '@temporalio/workflow';
import type { emptyActivities } from './empty-worker.ts';

/** Input of a workflow of `shapes.ts`. */
export type ShapeInput = {
  /** Milliseconds since 1970. */
  readonly dueAtMs: number;
  /** The task queue of each of its channels. */
  readonly queues: readonly string[];
};

// Workflows without work, with the structure of ours and of a peer's.

type Empty = typeof emptyActivities;

const { claim, finalize } = proxyLocalActivities<Empty>({ startToCloseTimeout: '10 seconds' });

const onQueue = (taskQueue: string) =>
  proxyActivities<Empty>({
    taskQueue,
    startToCloseTimeout: '5 minutes',
    heartbeatTimeout: '20 seconds',
    scheduleToCloseTimeout: '26 hours',
  });

/** The structure of ours: a timer, a local activity, an activity for each channel, a local activity. */
export async function barePost({ dueAtMs, queues }: ShapeInput): Promise<void> {
  await sleep(Math.max(dueAtMs - Date.now(), 1));
  await claim();
  await Promise.all(queues.map((queue) => onQueue(queue).step()));
  await finalize();
}

/**
 * The structure of the nearest peer's, for one channel of a post: two timers and twelve activities in sequence; 87
 * events.
 */
export async function peerPost({ dueAtMs, queues: [queue = ''] }: ShapeInput): Promise<void> {
  const { step } = onQueue(queue);
  await sleep(Math.max(dueAtMs - Date.now(), 1));
  for (let count = 0; count < 5; count += 1) {
    await step();
  }

  await sleep(1);
  for (let count = 0; count < 7; count += 1) {
    await step();
  }
}
