type Repeated = {
  readonly first: Promise<void>;
  /** Resolves after the last run. */
  readonly stop: () => Promise<void>;
};

/** Runs work immediately, and again after the delay in milliseconds that it returns; null ends it. */
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

/** A restartable timeout. Starts paused. */
export type IdleTimeout = {
  /** Restarts the time: data arrived, or this side starts to wait for data. */
  touch(): void;
  /** Stops the time: this side is not reading, so the other side is not idle. */
  pause(): void;
};

/** @param onTimeout Called once, when `idleMs` have passed since the last `touch`. */
export function createIdleTimeout(idleMs: number, onTimeout: () => void): IdleTimeout {
  let timer: NodeJS.Timeout | undefined;
  return {
    touch() {
      clearTimeout(timer);
      timer = setTimeout(onTimeout, idleMs);
    },
    pause: () => clearTimeout(timer),
  };
}
