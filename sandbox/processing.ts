import type { Attempt } from './orders.ts';
import type { Script } from './script.ts';

/** The work of a network on files that it got, by their ids: done at once, unless a directive says otherwise. */
export type Processing = {
  begin(id: string, attempt: Attempt): void;
  /** How it stands, for a caller that changes nothing. */
  stateOf(id: string): State;
  /** How it stands, for a client that asks: the work goes on with each look. */
  poll(id: string): State;
  forget(id: string): void;
};

type State = 'processing' | 'ready' | 'failed';

export function createProcessing(script: Pick<Script, 'processingOf'>): Processing {
  const work = new Map<string, { polls: number; readonly fails: boolean }>();
  const stateOf = (id: string): State => {
    const { polls, fails } = work.get(id) ?? { polls: 0, fails: false };
    return polls > 0 ? 'processing' : fails ? 'failed' : 'ready';
  };
  return {
    begin(id, attempt) {
      const { polls, fails } = script.processingOf(attempt);
      if (polls > 0 || fails) {
        work.set(id, { polls: Math.max(1, polls), fails });
      }
    },
    stateOf,
    poll(id) {
      const found = work.get(id);
      if (found !== undefined) {
        found.polls -= 1;
      }
      return stateOf(id);
    },
    forget: (id) => {
      work.delete(id);
    },
  };
}
