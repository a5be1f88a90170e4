import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createTurnstile } from '../egress/turnstile.ts';
import type { PictureFacts } from './inspect-file.ts';

const program = fileURLToPath(new URL('probe-video.ts', import.meta.url));
const run = promisify(execFile);

/** Over everything; it takes a tenth of a second. A file that takes longer is made to take longer. */
const timeout = 20_000;

/** More processes at a time would only take turns, and hold memory meanwhile. */
const enter = createTurnstile(2);
const never = new AbortController().signal;

const unreadable = { refusal: 'The file begins like a video but cannot be read as one.' };

/**
 * Reads the tables of a video, in a process of its own: a file may be made so that reading it takes a great deal of
 * time or memory, and that must stop neither the other requests nor this process.
 */
export async function inspectVideo(filePath: string): Promise<PictureFacts | { refusal: string }> {
  const leave = await enter('video', never);
  try {
    const command = ['--max-old-space-size=128', program, filePath];
    const { stdout } = await run(process.execPath, command, {
      timeout,
      killSignal: 'SIGKILL',
      env: {},
    });
    const facts = JSON.parse(stdout) as PictureFacts | null; // As our own program wrote it.
    if (facts === null) {
      return { refusal: 'The file begins like a video but has no picture in it.' };
    }

    return isPlausible(facts) ? facts : unreadable;
  } catch (error) {
    // A program that ran has a number or nothing here; one that could not be started is not the file's fault.
    if (error instanceof Error && 'code' in error && typeof error.code === 'string') {
      throw error;
    }

    return unreadable;
  } finally {
    leave();
  }
}

/** Larger numbers are somebody's joke, and fit into no column of the database. */
const isPlausible = ({ width, height, durationMs }: PictureFacts): boolean =>
  isFrom1To(65_535, width) && isFrom1To(65_535, height) && isFrom1To(2 ** 31 - 1, durationMs ?? 1);

const isFrom1To = (most: number, value: number | null): boolean =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most;
