import type { ExecutionContext } from 'ava';

export type Scope = {
  /** Stands in for ava's `t` where only `t.teardown` is used. */
  readonly t: ExecutionContext;
  /** Undoes everything, the newest first, and tries all of it even when some of it fails. */
  readonly close: () => Promise<void>;
};

/** Test support cleans up after itself by `t.teardown`; this lets a script use it that is no test. */
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
