import { setTimeout as sleep } from 'node:timers/promises';
import type { Stage } from '../../scripts/parts/part.ts';
import type { Temporal } from '../../temporal/connect.ts';

/** Concurrent starts. */
const concurrency = 8;

/** Attempts per item, as a busy machine may not start it in time. */
const maxAttempts = 10;

/** Calls `work` for each item, several at a time. `work` must be repeatable. */
export async function forEachOf<T>(
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = items.values();
  const lane = async (): Promise<void> => {
    for (const item of rest) {
      await withRetries(() => work(item));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
}

/** Calls `work` until it succeeds, a second apart. @throws the last error. */
export async function withRetries(work: () => Promise<unknown>): Promise<void> {
  for (let left = maxAttempts - 1; ; left -= 1) {
    try {
      await work();
      return;
    } catch (error) {
      if (left === 0) {
        throw error;
      }

      await sleep(1000);
    }
  }
}

/** The number of ended workflows with this prefix. */
export async function countClosed({ client }: Temporal, prefix: string): Promise<number> {
  const { count } = await client.workflow.count(
    `ExecutionStatus != 'Running' and WorkflowId starts_with '${prefix}'`,
  );
  return count;
}

type Awaited = {
  /** Prefix of their ids. */
  readonly prefix: string;
  readonly workflows: number;
  /** Time limit, in milliseconds. */
  readonly withinMs: number;
};

/** @throws Error when fewer have ended in time. */
export async function untilClosed(
  { signal }: Stage,
  temporal: Temporal,
  { prefix, workflows, withinMs }: Awaited,
): Promise<void> {
  const endMs = Date.now() + withinMs;
  for (let closed = 0; closed < workflows; closed = await countClosed(temporal, prefix)) {
    signal.throwIfAborted();
    if (Date.now() > endMs) {
      const within = `After ${withinMs / 1000} s`;
      throw new Error(`${within} only ${closed} of ${workflows} workflows were done.`);
    }

    await sleep(200);
  }
}
