import type { Attempt } from './orders.ts';
import type { Script } from './script.ts';

/** A network's processing of files by id: done immediately, unless a directive applies. */
export type Processing = {
  begin(id: string, attempt: Attempt): void;
  /** The state, without side effects. */
  stateOf(id: string): State;
  /** The state for a client's poll, which advances the processing. */
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
