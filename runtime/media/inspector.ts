import { availableParallelism } from 'node:os';
import { AppError } from '../../domain/errors.ts';
import { createFairQueue } from './fair-queue.ts';
import type { MediaFacts, Refusal } from './media-facts.ts';
import { probe, runProbe, type ProbeBounds } from './run-probe.ts';

/** Looks at files that strangers sent. */
export type Inspector = {
  /**
   * Looks at the bytes of a local file: never at its name. No picture is decoded.
   *
   * @param workspaceId Whose file it is: of those who wait, each workspace has its turn.
   * @param signal Aborts when nobody waits for the answer any more; then its place is free.
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
  readonly places: number;
  /** For a place, in milliseconds. */
  readonly waitMs: number;
};

const processors = Math.min(Math.max(2, Math.floor(availableParallelism() / 2)), 8);

/** In seconds. */
const retryAfter = 10;

/** One place is always left to the other workspaces: files that take their whole time would hold all of them. */
export function createInspector({
  places = processors,
  waitMs = 30_000,
  cpuSeconds = 10,
  timeoutMs = 30_000,
  program = probe,
}: Partial<Bounds> = {}): Inspector {
  const enter = createFairQueue({ all: places, each: Math.max(1, places - 1) });
  const end = new AbortController();

  async function place(workspaceId: string, given: AbortSignal): Promise<() => void> {
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
      const leave = await place(workspaceId, either);
      try {
        return await runProbe(filePath, { program, cpuSeconds, timeoutMs }, either);
      } finally {
        leave();
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
