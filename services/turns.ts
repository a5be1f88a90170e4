import { AsyncLocalStorage } from 'node:async_hooks';

type Turn = { readonly begin: () => Promise<void>; readonly end: () => void };

/** The turn of the call that is under way. */
const current = new AsyncLocalStorage<Turn>();

export type InTurn = <T>(workspaceId: string, work: () => Promise<T>) => Promise<T>;

/** @param most How many calls of a workspace run at the same time. The others wait, in their order. */
export function createTurns(most: number): InTurn {
  const known = new Map<string, { taken: number; readonly waiting: (() => void)[] }>();
  const turnOf = (workspaceId: string): Turn => ({
    begin: async () => {
      const turns = known.get(workspaceId) ?? { taken: 0, waiting: [] };
      known.set(workspaceId, turns);
      turns.taken += 1;
      if (turns.taken > most) {
        await new Promise<void>((resolve) => turns.waiting.push(resolve));
      }
    },
    end: () => {
      const turns = known.get(workspaceId) ?? { taken: 1, waiting: [] };
      turns.taken -= 1;
      if (turns.taken === 0) {
        known.delete(workspaceId);
      }

      const next = turns.waiting.shift();
      if (next) {
        setImmediate(next); // Calls of others come between two that use the processor.
      }
    },
  });
  return async (workspaceId, work) => {
    const turn = turnOf(workspaceId);
    await turn.begin();
    try {
      return await current.run(turn, work);
    } finally {
      turn.end();
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
