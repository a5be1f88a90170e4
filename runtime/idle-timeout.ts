/** Calls back when nothing has come for a while. Starts paused. */
export type IdleTimeout = {
  /** Something came, or is waited for from now on. */
  touch(): void;
  /** This side is not ready to take more, so the other side is not idle. */
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
