import { createFairQueue } from '../runtime/concurrency.ts';

/** For whom a text is read, and until when. */
export type Reader = {
  readonly workspaceId?: string | undefined;
  readonly signal: AbortSignal;
};

const enter = createFairQueue({ all: 1, each: 1 });

/**
 * Runs one piece of work at a time in this process, and other work between two pieces. A workspace can have hundreds of
 * texts read at once, which take 0.4 s of processor time each.
 */
export async function inTurn<T>({ workspaceId = '', signal }: Reader, work: () => T): Promise<T> {
  const leave = await enter(workspaceId, signal);
  try {
    return work();
  } finally {
    setImmediate(leave);
  }
}
