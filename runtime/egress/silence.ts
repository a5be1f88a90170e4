/** Notices that nothing has come for a while. Starts paused. */
export type SilenceWatch = {
  /** Something came, or is waited for from now on. */
  touch(): void;
  /** It is we who are not ready. */
  pause(): void;
};

/** @param onSilence Called once, when `silentMs` have passed since the last `touch`. */
export function watchSilence(silentMs: number, onSilence: () => void): SilenceWatch {
  let timer: NodeJS.Timeout | undefined;
  const pause = () => {
    clearTimeout(timer);
    timer = undefined;
  };
  return {
    touch() {
      if (timer) {
        timer.refresh();
      } else {
        timer = setTimeout(onSilence, silentMs);
      }
    },
    pause,
  };
}
