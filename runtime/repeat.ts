export type Repeated = {
  /** Resolves when the first run is over. */
  readonly first: Promise<void>;
  /** Resolves when the last run is over. */
  readonly stop: () => Promise<void>;
};

/**
 * Runs work at once, and again after each run.
 *
 * @param work Catches its own errors. @returns how long to wait before the next run, in milliseconds; null to end.
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
