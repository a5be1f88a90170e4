import type { ExecutionContext } from 'ava';

export type Scope = {
  /** Replaces ava's `t` where only `t.teardown` is used. */
  readonly t: ExecutionContext;
  /** Runs all teardowns, the newest first, even if some fail. */
  readonly close: () => Promise<void>;
};

/** Test support cleans up through `t.teardown`; a scope lets a script outside ava use it. */
export function openScope(): Scope {
  const undo: (() => unknown)[] = [];
  const teardown = (step: () => unknown): void => {
    undo.push(step);
  };
  return {
    t: { teardown } as unknown as ExecutionContext,
    async close() {
      const failures: unknown[] = [];
      for (const step of undo.toReversed()) {
        await Promise.resolve()
          .then(step)
          .catch((error: unknown) => failures.push(error));
      }

      if (failures.length > 0) {
        throw new AggregateError(failures, 'Not everything could be cleaned up.');
      }
    },
  };
}
