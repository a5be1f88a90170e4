import { proxyActivities, proxyLocalActivities, sleep } from '@temporalio/workflow';
import type { bareActivities } from './bare-worker.ts';

/** Input of a workflow of `shapes.ts`. */
export type ShapeInput = {
  /** Milliseconds since 1970. */
  readonly dueAtMs: number;
  /** Of each of its channels: the task queue, and the index of the account. */
  readonly sends: readonly { readonly queue: string; readonly account: number }[];
};

// The structure of our workflow and of a peer's, without any work but the requests to the network.

type Bare = typeof bareActivities;

const { claim, finalize } = proxyLocalActivities<Bare>({ startToCloseTimeout: '10 seconds' });

const onQueue = (taskQueue: string) =>
  proxyActivities<Bare>({
    taskQueue,
    startToCloseTimeout: '5 minutes',
    heartbeatTimeout: '20 seconds',
    scheduleToCloseTimeout: '26 hours',
  });

/** The structure of ours: a timer, a local activity, an activity for each channel, a local activity. */
export async function barePost({ dueAtMs, sends }: ShapeInput): Promise<void> {
  await sleep(Math.max(dueAtMs - Date.now(), 1));
  await claim();
  await Promise.all(sends.map(({ queue, account }) => onQueue(queue).send(account)));
  await finalize();
}

/**
 * The structure of the nearest peer's, for one channel of a post: two timers and twelve activities in sequence; 87
 * events. One of the activities sends.
 */
export async function peerPost({ dueAtMs, sends: [channel] }: ShapeInput): Promise<void> {
  const { queue, account } = channel ?? { queue: '', account: 0 };
  const { step, send } = onQueue(queue);
  await sleep(Math.max(dueAtMs - Date.now(), 1));
  for (let count = 0; count < 5; count += 1) {
    await step();
  }

  await sleep(1);
  await send(account);
  for (let count = 0; count < 6; count += 1) {
    await step();
  }
}
