import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type ProgramBounds = {
  /** Of the processor. */
  readonly cpuSeconds: number;
  /** By the clock on the wall, against what is stuck without using the processor. */
  readonly timeoutMs: number;
  /**
   * In MB, of memory that it may write to. Node sets 600 MB of that aside and uses 50; a file gets the rest, or less of it
   * where it becomes JavaScript's. Systems that know no such bound (macOS) have the next alone.
   */
  readonly dataMb: number;
  /** In MB, of JavaScript's own memory. */
  readonly heapMb: number;
};

/** A crash leaves no copy of the memory on the disk. A bound that is stricter already stays as it is. */
const limited = ({ cpuSeconds, dataMb }: ProgramBounds): string =>
  [
    'ulimit -c 0 2>/dev/null',
    `ulimit -d ${dataMb * 1024} 2>/dev/null`,
    `ulimit -S -t ${cpuSeconds}`,
    'exec "$0" "$@"',
  ].join('; ');

/** One thread for each of its pools: it has one thing to do, and each sets memory aside. */
const env = { MALLOC_ARENA_MAX: '1', UV_THREADPOOL_SIZE: '1', VIPS_CONCURRENCY: '1' };

/** How it ends when the bounds are reached, or what reads the file comes to grief over it. */
const ownEnds: ReadonlySet<unknown> = new Set([
  'SIGXCPU',
  'SIGABRT',
  'SIGSEGV',
  'SIGTRAP',
  'SIGBUS',
  'SIGILL',
  'SIGFPE',
] satisfies NodeJS.Signals[]);

/**
 * Runs a program of ours on a file of a stranger's, in a process of its own: one may be made so that reading it takes a
 * great deal of time or memory, and that must stop neither other work nor this process.
 *
 * @returns what it wrote, or null when it ended by its bounds or by a crash, which is the file's doing.
 * @throws what ended it otherwise: another process, a bug, or that it is stuck or cannot begin. The signal's reason when
 *   that aborts.
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
  const kill = (): void => void ended.child.kill('SIGKILL'); // By its own means execFile sends SIGTERM.
  signal.addEventListener('abort', kill);
  try {
    return (await ended).stdout;
  } catch (error) {
    signal.throwIfAborted();
    const { signal: end, killed } = error as Ended;
    if (!killed && ownEnds.has(end)) {
      return null;
    }

    throw error;
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

type Ended = { readonly signal?: NodeJS.Signals; readonly killed?: boolean };
