import { setTimeout as sleep } from 'node:timers/promises';
import type { Stage } from '../../scripts/parts/part.ts';
import type { Temporal } from '../../temporal/connect.ts';

/** How many starts are under way at a time. */
const concurrency = 8;

/** How often one is tried, as a machine that is busy with others may not start it in time. */
const tries = 10;

/** Calls `work` for each of them, some at a time. What it does may be repeated. */
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

/** Calls `work` until it succeeds, a second apart. @throws what it threw last. */
export async function withRetries(work: () => Promise<unknown>): Promise<void> {
  for (let left = tries - 1; ; left -= 1) {
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

/** How many workflows whose ids begin so have ended so far. */
export async function countClosed({ client }: Temporal, prefix: string): Promise<number> {
  const { count } = await client.workflow.count(
    `ExecutionStatus != 'Running' and WorkflowId starts_with '${prefix}'`,
  );
  return count;
}

type Awaited = {
  /** What their ids begin with. */
  readonly prefix: string;
  readonly workflows: number;
  /** Milliseconds that they may take. */
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
