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
      if (timer) {
        timer.refresh();
      } else {
        timer = setTimeout(onTimeout, idleMs);
      }
    },
    pause() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
