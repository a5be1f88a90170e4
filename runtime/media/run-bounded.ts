import { execFile } from 'node:child_process';
import { setPriority } from 'node:os';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type ProgramBounds = {
  /** Limit of processor time. */
  readonly cpuSeconds: number;
  /** Limit of elapsed time, for a process that hangs without using the processor. */
  readonly timeoutMs: number;
  /**
   * In MB, of writable memory. Node reserves 600 MB of it and uses 50; the file gets the rest, or less when the data
   * becomes JavaScript's. Systems without this limit (macOS) only have `heapMb`.
   */
  readonly dataMb: number;
  /** In MB, of the JavaScript heap. */
  readonly heapMb: number;
};

/** Disables core dumps. A stricter existing limit stays. */
const limited = ({ cpuSeconds, dataMb }: ProgramBounds): string =>
  [
    'ulimit -c 0 2>/dev/null',
    `ulimit -d ${dataMb * 1024} 2>/dev/null`,
    `ulimit -S -t ${cpuSeconds}`,
    'exec "$0" "$@"',
  ].join('; ');

/** One thread per pool: the program has one task, and each thread reserves memory. */
const env = { MALLOC_ARENA_MAX: '1', UV_THREADPOOL_SIZE: '1', VIPS_CONCURRENCY: '1' };

/** Signals that end it at a limit or in a crash. */
const limitSignals = new Set<NodeJS.Signals | undefined>([
  'SIGXCPU',
  'SIGABRT',
  'SIGSEGV',
  'SIGTRAP',
  'SIGBUS',
  'SIGILL',
  'SIGFPE',
]);

/**
 * Runs a program of ours on an untrusted file in a child process, since a file can be made to take much time or memory.
 *
 * @returns its output, or null when it hit a limit or crashed, which is the file's fault. Other failures are thrown.
 */
export async function runBounded(
  program: string,
  parameters: readonly string[],
  bounds: ProgramBounds,
  signal: AbortSignal,
): Promise<string | null> {
  const node = [process.execPath, `--max-old-space-size=${bounds.heapMb}`, program, ...parameters];
  signal.throwIfAborted();
  const ended = run('/bin/sh', ['-c', limited(bounds), ...node], {
    env,
    timeout: bounds.timeoutMs,
    killSignal: 'SIGKILL',
  });
  const kill = (): void => void ended.child.kill('SIGKILL'); // execFile's own `signal` option sends SIGTERM.
  signal.addEventListener('abort', kill);
  try {
    return (await ended).stdout;
  } catch (error) {
    signal.throwIfAborted();
    const { signal: end, killed } = error as { signal?: NodeJS.Signals; killed?: boolean };
    if (!killed && limitSignals.has(end)) {
      return null;
    }

    throw error;
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

/** The errors of file systems and of failed allocations, which are not the fault of a file, are thrown. */
export function nullUnlessSystemError(error: unknown): null {
  if (error instanceof RangeError || (error instanceof Error && 'syscall' in error)) {
    throw error;
  }

  return null;
}

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
