import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { AppError } from '../../domain/errors.ts';
import type { MediaDetails } from '../../domain/media.ts';
import { createFairQueue } from '../concurrency.ts';
import { runBounded, type ProgramBounds } from './run-bounded.ts';

export type Inspector = ReturnType<typeof createInspector>;

type Bounds = ProbeBounds & {
  /** Concurrent processes. More than there are processors would not be faster, and use more memory. */
  readonly slots: number;
  /** Longest wait for a slot, in milliseconds. */
  readonly waitMs: number;
};

const processors = Math.min(Math.max(2, Math.floor(availableParallelism() / 2)), 8);

/**
 * Inspects untrusted files. A workspace gets all slots but one: files that use their whole time would otherwise block
 * the other workspaces.
 */
export function createInspector({
  slots = processors,
  waitMs = 30_000,
  cpuSeconds = 10,
  timeoutMs = 30_000,
  program = probe,
}: Partial<Bounds> = {}) {
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
    /**
     * Inspects the bytes of a local file, never its name. Waiting workspaces alternate.
     *
     * @throws AppError `unavailable` when no slot was free in time or the inspection could not run; the signal's reason.
     */
    async inspect(filePath: string, workspaceId: string, signal?: AbortSignal) {
      const either = signal ? AbortSignal.any([signal, end.signal]) : end.signal;
      const release = await acquireSlot(workspaceId, either);
      try {
        return await runProbe(filePath, { program, cpuSeconds, timeoutMs }, either);
      } finally {
        release();
      }
    },
    /** Aborts every inspection under way. */
    close: () => end.abort(new AppError('unavailable', 'The service is being stopped. Try again.')),
  };
}

const tooLate = (): AppError =>
  new AppError(
    'unavailable',
    'Too many files are waiting for inspection. This file was not stored; send it again later.',
    { retryAfter: 10 },
  );

export const probe = fileURLToPath(new URL('probe.ts', import.meta.url));

/** A normal file takes 0.2 s of processor time; one that takes seconds was made to. */
type ProbeBounds = Pick<ProgramBounds, 'cpuSeconds' | 'timeoutMs'> & {
  /** Replaces the program, for tests. */
  readonly program: string;
};

/** Throws when the child was killed from outside, hung or could not start, which is not the file's fault. */
async function runProbe(
  filePath: string,
  { program, cpuSeconds, timeoutMs }: ProbeBounds,
  signal: AbortSignal,
): Promise<MediaFacts | FileRefusal> {
  const bounds = { cpuSeconds, timeoutMs, dataMb: 1024, heapMb: 128 };
  let written: string | null;
  try {
    written = await runBounded(program, [filePath], bounds, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw new AppError('unavailable', 'The file could not be inspected. Try again.', {
      cause: error,
    });
  }

  return written === null
    ? {
        refusal: 'The inspection of the file takes too much time or memory, or crashes.',
      }
    : (JSON.parse(written) as MediaFacts | FileRefusal); // Written by our own program.
}

export type PictureFacts = {
  /** In pixels, as displayed. */
  readonly width: number | null;
  readonly height: number | null;
  /** Null for a still image. */
  readonly durationMs: number | null;
  readonly details: MediaDetails;
};

export type MediaFacts = PictureFacts & { readonly type: string };

/** The reason for the refusal of a file, in a sentence for its owner. */
export type FileRefusal = { readonly refusal: string };
