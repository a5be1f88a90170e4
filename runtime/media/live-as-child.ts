import { setPriority } from 'node:os';

/** Lets this process live no longer and no more grandly than the one that started it, and no shorter. */
export function liveAsChild(): void {
  setPriority(5); // Below those who answer requests.

  // A terminal's Ctrl-C and systemd's SIGTERM reach all processes, and the one above has still to answer.
  process.on('SIGINT', () => undefined).on('SIGTERM', () => undefined);

  // That one holds our input open for as long as it lives.
  process.stdin.once('close', () => process.exit(1)).resume();

  // Memory that cannot be had ends it as a full heap does, and not as a fault of ours.
  process.on('uncaughtException', (error) => {
    if (error instanceof RangeError) {
      process.abort();
    }

    process.stderr.write(`${error.stack}\n`, () => process.exit(1));
  });
}
