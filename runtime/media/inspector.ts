import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { AppError } from '../../domain/errors.ts';
import { createFairQueue } from './fair-queue.ts';
import type { MediaFacts, Refusal } from './media-facts.ts';
import { runBounded } from './run-bounded.ts';

/** Looks at files that strangers sent. */
export type Inspector = {
  /**
   * Looks at the bytes of a local file: never at its name. Decodes a picture, of an
   * animation the first frame. Adds the end marker that a JPEG lacks.
   *
   * @param workspaceId Whose file it is: of those who wait, each workspace has its turn.
   * @param signal Aborts when the client is gone; then its slot is free.
   * @returns the facts, or in a sentence for its owner why it is no image and no video that we take.
   * @throws AppError `unavailable` when its turn did not come in time or it could not be looked at; the signal's reason.
   */
  inspect(
    filePath: string,
    workspaceId: string,
    signal?: AbortSignal,
  ): Promise<MediaFacts | Refusal>;
  /** Ends what is under way: all of it fails as `unavailable`. */
  close(): void;
};

type Bounds = ProbeBounds & {
  /** At a time. More processes than processors would only take turns, and hold memory meanwhile. */
  readonly slots: number;
  /** For a slot, in milliseconds. */
  readonly waitMs: number;
};

const processors = Math.min(Math.max(2, Math.floor(availableParallelism() / 2)), 8);

/** In seconds. */
const retryAfter = 10;

/** One slot is always left to the other workspaces: files that take their whole time would hold all of them. */
export function createInspector({
  slots = processors,
  waitMs = 30_000,
  cpuSeconds = 10,
  timeoutMs = 30_000,
  program = probe,
}: Partial<Bounds> = {}): Inspector {
  const enter = createFairQueue({ all: slots, each: Math.max(1, slots - 1) });
  const end = new AbortController();

  async function acquireSlot(workspaceId: string, given: AbortSignal): Promise<() => void> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(tooLate()), waitMs);
    try {
      return await enter(workspaceId, AbortSignal.any([given, late.signal]));
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    async inspect(filePath, workspaceId, signal) {
      const either = signal ? AbortSignal.any([signal, end.signal]) : end.signal;
      const release = await acquireSlot(workspaceId, either);
      try {
        return await runProbe(filePath, { program, cpuSeconds, timeoutMs }, either);
      } finally {
        release();
      }
    },
    close: () => end.abort(new AppError('unavailable', 'The service is being stopped. Try again.')),
  };
}

const tooLate = (): AppError =>
  new AppError(
    'unavailable',
    'Too many files wait to be looked at before this one. Nothing of it was kept; send it again later.',
    { retryAfter },
  );

/** The program that looks at a file. */
export const probe = fileURLToPath(new URL('probe.ts', import.meta.url));

type ProbeBounds = {
  /** Of the processor. It takes a fifth of one; a file that takes many is made to take them. */
  readonly cpuSeconds: number;
  /** By the clock on the wall, against what is stuck without using the processor. */
  readonly timeoutMs: number;
  /** Another program than ours. */
  readonly program: string;
};

/**
 * Looks at a file in a process of its own.
 *
 * @throws AppError `unavailable` when the process was ended by another process, is stuck or cannot begin: that is not the
 * file's fault. The signal's reason when that aborts.
 */
async function runProbe(
  filePath: string,
  { program, cpuSeconds, timeoutMs }: ProbeBounds,
  signal: AbortSignal,
): Promise<MediaFacts | Refusal> {
  const bounds = { cpuSeconds, timeoutMs, dataMb: 1024, heapMb: 128 };
  let written: string | null;
  try {
    written = await runBounded(program, [filePath], bounds, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw new AppError('unavailable', 'The file could not be looked at just now. Try again.', {
      cause: error,
    });
  }

  return written === null
    ? { refusal: 'The file takes too much time or memory to be looked at, or breaks what does.' }
    : (JSON.parse(written) as MediaFacts | Refusal); // As our own program wrote it.
}
