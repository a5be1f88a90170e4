import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { createTurnstile } from '../egress/turnstile.ts';
import type { PictureFacts } from './inspect-file.ts';

const program = fileURLToPath(new URL('video-worker.ts', import.meta.url));

/** Over everything. A file that takes longer is made to take longer. */
const timeoutMs = 20_000;

/** More threads at a time would only take turns, and hold memory meanwhile. */
const enter = createTurnstile(1);
const never = new AbortController().signal;

const unreadable = { refusal: 'The file begins like a video but cannot be read as one.' };

/**
 * Reads the tables of a video, in a thread of its own: a file may be made so that reading it takes a great deal of
 * time or memory, and that must stop neither the other requests nor the process.
 */
export async function inspectVideo(filePath: string): Promise<PictureFacts | { refusal: string }> {
  const leave = await enter('video', never);
  const worker = new Worker(program, {
    workerData: filePath,
    resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 8 },
    stderr: true,
  });
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const [facts] = (await once(worker, 'message', { signal })) as [PictureFacts | null];
    if (facts === null) {
      return { refusal: 'The file begins like a video but has no picture in it.' };
    }

    return isPlausible(facts) ? facts : unreadable;
  } catch {
    return unreadable;
  } finally {
    await worker.terminate();
    leave();
  }
}

/** Larger numbers are somebody's joke, and fit into no column of the database. */
const isPlausible = ({ width, height, durationMs }: PictureFacts): boolean =>
  isFrom1To(65_535, width) && isFrom1To(65_535, height) && isFrom1To(2 ** 31 - 1, durationMs ?? 1);

const isFrom1To = (most: number, value: number | null): boolean =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most;
