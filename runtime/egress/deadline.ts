/** A signal that aborts when the time is up or the caller's own signal does, whichever is first. */
export type Deadline = { readonly signal: AbortSignal; stop(): void };

/** Starts the clock. `stop` frees the timer, which otherwise keeps the process alive. */
export function startDeadline(timeoutMs: number, callerSignal?: AbortSignal): Deadline {
  const clock = new AbortController();
  const timer = setTimeout(() => {
    clock.abort(new Error(`No answer within ${timeoutMs} ms.`));
  }, timeoutMs);
  return {
    signal: callerSignal ? AbortSignal.any([clock.signal, callerSignal]) : clock.signal,
    stop: () => clearTimeout(timer),
  };
}
