import { AsyncLocalStorage } from 'node:async_hooks';
import { createFairQueue } from '../runtime/concurrency.ts';
import type { Caller } from './context.ts';

type Turn = { readonly begin: () => Promise<void>; readonly end: () => void };

const current = new AsyncLocalStorage<Turn>();

export type InTurn = <T>(
  caller: Pick<Caller, 'keyId' | 'workspaceId'>,
  signal: AbortSignal,
  work: () => Promise<T>,
  sent?: Promise<void>,
) => Promise<T>;

/**
 * The turns last until `sent`, since an answer that its client reads slowly stays in memory.
 *
 * @param slots How many calls of a workspace, and of a key, run at the same time. The others wait, in their order, until
 *   their client is gone.
 */
export function createTurns(slots: Parameters<typeof createFairQueue>[0]): InTurn {
  const enter = createFairQueue(slots);
  return async ({ keyId, workspaceId }, signal, work, sent = Promise.resolve()) => {
    const never = AbortSignal.any([]);
    let leave = await enter(keyId, signal, workspaceId);
    const turn: Turn = {
      begin: async () => {
        leave = await enter(keyId, never, workspaceId);
      },
      // Calls of others come between two that use the processor.
      end: () => void setImmediate(leave),
    };
    try {
      return await current.run(turn, work);
    } finally {
      void sent.then(turn.end);
    }
  };
}

/** Lets the next call of the workspace run while this one waits for a server that a person named. */
export async function outsideTurn<T>(work: () => Promise<T>): Promise<T> {
  const turn = current.getStore();
  turn?.end();
  try {
    return await work();
  } finally {
    await turn?.begin();
  }
}
