export type Repeated = {
  /** Resolves after the first run. */
  readonly first: Promise<void>;
  /** Resolves after the last run. */
  readonly stop: () => Promise<void>;
};

/**
 * Runs work immediately, and again after each run.
 *
 * @param work Catches its own errors. @returns the delay before the next run in milliseconds; null to end.
 */
export function repeat(work: () => Promise<number | null>): Repeated {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const run = async (): Promise<void> => {
    const waitMs = await work();
    if (waitMs !== null && !isStopped) {
      timer = setTimeout(next, waitMs);
    }
  };
  const first = run();
  let running = first;
  const next = (): void => {
    running = run();
  };

  return {
    first,
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
