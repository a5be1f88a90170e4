import { AsyncLocalStorage } from 'node:async_hooks';
import { createKeyedSemaphore, enterEach, type KeyedSemaphore } from '../runtime/concurrency.ts';
import type { Caller } from './context.ts';

type Turn = { readonly begin: () => Promise<void>; readonly end: () => void };

const current = new AsyncLocalStorage<Turn>();

type Answer = Pick<Caller, 'keyId' | 'workspaceId'> & {
  readonly sinceMs: number;
  /** Resolves when the client has the answer, or left. */
  readonly sent: Promise<unknown>;
  readonly disconnect: () => void;
};

export type InTurn = <T>(
  caller: Pick<Caller, 'keyId' | 'workspaceId'>,
  signal: AbortSignal,
  work: () => Promise<T>,
  answer: Pick<Answer, 'sent' | 'disconnect'>,
) => Promise<T>;

/** In milliseconds. A call that has waited this long ends the slowest answer, if its sending took as long. */
const patienceMs = 5000;

/** Turns of all workspaces in this process. An MCP answer takes up to 30 MB until it is sent. */
const mostInProcess = 20;

/**
 * A turn lasts until the answer is sent, since an answer that its client reads slowly stays in memory.
 *
 * @param slots How many calls of a workspace, and of a key, run at the same time. The others wait, in their order, until
 *   their client is gone.
 */
export function createTurns(slots: { readonly all: number; readonly each: number }): InTurn {
  const sending = new Set<Answer>();
  /** While a call waits, the slowest of these answers ends after each such time. */
  const impatient = (most: number, isOf: (one: Answer, key: string) => boolean): KeyedSemaphore => {
    const enter = createKeyedSemaphore(most);
    return (key, signal) => {
      const timer = setInterval(() => {
        const untilMs = performance.now() - patienceMs;
        [...sending].find((one) => isOf(one, key) && one.sinceMs < untilMs)?.disconnect();
      }, patienceMs);
      return enter(key, signal).finally(() => clearInterval(timer));
    };
  };
  const ofKey = impatient(slots.each, ({ keyId }, id) => keyId === id);
  const ofWorkspace = impatient(slots.all, ({ workspaceId }, id) => workspaceId === id);
  const ofProcess = impatient(mostInProcess, () => true);
  return async ({ keyId, workspaceId }, signal, work, answer) => {
    const enter = (until: AbortSignal) =>
      enterEach([ofKey, ofWorkspace, ofProcess], [keyId, workspaceId], until);
    let leave = await enter(signal);
    const turn: Turn = {
      begin: async () => {
        leave = await enter(AbortSignal.any([]));
      },
      // Calls of others come between two that use the processor.
      end: () => void setImmediate(leave),
    };
    try {
      return await current.run(turn, work);
    } finally {
      const one = { keyId, workspaceId, sinceMs: performance.now(), ...answer };
      sending.add(one);
      void one.sent.then(() => {
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
