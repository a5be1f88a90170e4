/** Resolves when the process is told to stop (SIGTERM, or Ctrl-C). A second time kills it at once. */
export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => resolve());
    }
  });
}
