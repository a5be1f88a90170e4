import { setPriority } from 'node:os';

/** Makes this process end with its parent, not before it, at lower CPU priority. */
export function endWithParent(): void {
  setPriority(5); // Below the processes that answer requests.

  // Ctrl-C in a terminal and systemd's SIGTERM reach all processes, and the parent still needs this one's result.
  process.on('SIGINT', () => undefined).on('SIGTERM', () => undefined);

  // The parent holds our stdin open while it is alive.
  process.stdin.once('close', () => process.exit(1)).resume();

  // A failed allocation ends the process like a full heap, so that it counts as the file's fault and not as a bug.
  process.on('uncaughtException', (error) => {
    if (error instanceof RangeError) {
      process.abort();
    }

    process.stderr.write(`${error.stack}\n`, () => process.exit(1));
  });
}
