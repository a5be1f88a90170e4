import { AsyncLocalStorage } from 'node:async_hooks';
import { createFairQueue, createKeyedSemaphore } from '../runtime/concurrency.ts';
import type { Caller } from './context.ts';

type Turn = { readonly begin: () => Promise<void>; readonly end: () => void };

const current = new AsyncLocalStorage<Turn>();

type Answer = {
  /** Resolves when the client has the answer, or left. */
  readonly sent: Promise<unknown>;
  readonly disconnect: () => void;
};

export type InTurn = <T>(
  caller: Pick<Caller, 'keyId' | 'workspaceId'>,
  signal: AbortSignal,
  work: () => Promise<T>,
  answer?: Partial<Answer>,
) => Promise<T>;

/** After this time, in milliseconds, an answer that is still being sent ends when another call waits as long. */
const patienceMs = 5000;

/**
 * A turn lasts until the answer is sent, since an answer that its client reads slowly stays in memory.
 *
 * @param slots How many calls of a workspace, and of a key, run at the same time. The others wait, in their order, until
 *   their client is gone.
 */
export function createTurns(slots: Parameters<typeof createFairQueue>[0]): InTurn {
  const sending = new Set<Answer & { readonly workspaceId: string; readonly sinceMs: number }>();
  const endSlowest = (workspaceId: string): void => {
    const untilMs = performance.now() - patienceMs;
    [...sending]
      .find((one) => one.workspaceId === workspaceId && one.sinceMs < untilMs)
      ?.disconnect();
  };
  const enterCommon = createKeyedSemaphore(slots.all);
  const enter = createFairQueue(slots, async (workspaceId, signal) => {
    const timer = setInterval(endSlowest, patienceMs, workspaceId);
    return enterCommon(workspaceId, signal).finally(() => clearInterval(timer));
  });
  return async ({ keyId, workspaceId }, signal, work, answer = {}) => {
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
      const { sent = Promise.resolve(), disconnect = () => undefined } = answer;
      const one = { workspaceId, sinceMs: performance.now(), sent, disconnect };
      sending.add(one);
      void sent.then(() => {
        sending.delete(one);
        turn.end();
      });
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
