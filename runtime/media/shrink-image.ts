import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { createFairQueue } from '../concurrency.ts';
import { runBounded } from './run-bounded.ts';

export type SmallerImage = {
  readonly type: 'image/jpeg' | 'image/webp';
  /** In pixels, as displayed. */
  readonly width: number;
  readonly height: number;
};

/**
 * Each image takes a processor and up to a gigabyte. Workspaces alternate, with one image each at a time, so that many
 * images of one workspace delay another workspace by one image.
 */
const enter = createFairQueue({ all: availableParallelism() > 3 ? 2 : 1, each: 1 });

/** Large images take up to 90 s, so they have a queue of their own, and photos do not wait for them. */
const enterLarge = createFairQueue({ all: 1, each: 1 });
/** The most pixels of an image that does not count as large. Most cameras make fewer. */
const mostPixels = 30_000_000;

type Wanted = {
  readonly maxBytes: number;
  readonly maxSide?: number;
  /** Replaces transparency with white, for networks without WebP. */
  readonly isOpaque?: boolean | undefined;
  /** The pixels of the image. Without it, an image of more than 30 million is not decoded. */
  readonly pixels?: number;
  readonly workspaceId?: string | undefined;
};

const program = fileURLToPath(new URL('shrink.ts', import.meta.url));
/** A noisy picture of 30 million pixels takes 6 s. */
const boundsOf = (isLarge: boolean) =>
  ({ cpuSeconds: isLarge ? 60 : 20, timeoutMs: 90_000, dataMb: 2048, heapMb: 128 }) as const;

/**
 * Encodes an image in a child process so that it fits into `maxBytes`: as JPEG, or as WebP to keep transparency, with
 * fewer pixels if needed. Keeps only the first frame of an animation. With the same version, equal inputs give equal
 * bytes.
 *
 * @param image The file; always read to its end or destroyed.
 * @returns null when the image cannot be decoded within the limits.
 */
export async function shrinkImage(
  image: Readable,
  { maxBytes, maxSide = 4000, isOpaque = false, pixels, workspaceId = '' }: Wanted,
  signal: AbortSignal,
): Promise<(SmallerImage & { readonly bytes: Buffer }) | null> {
  image.on('error', () => undefined); // It may fail before it is read.
  const isLarge = (pixels ?? 0) > mostPixels;
  const queue = isLarge ? enterLarge : enter;
  const leave = await queue(workspaceId, signal).catch((error: unknown) => {
    image.destroy();
    throw error;
  });
  const folder = await mkdtemp(path.join(tmpdir(), 'punctual-image-'));
  const [from, to] = [path.join(folder, 'from'), path.join(folder, 'to')];
  try {
    await pipeline(image, createWriteStream(from, { mode: 0o600 }), { signal });
    const limits = [maxBytes, maxSide, isOpaque, pixels ? Infinity : mostPixels].map(String);
    const written = await runBounded(program, [from, to, ...limits], boundsOf(isLarge), signal);
    const made = JSON.parse(written ?? 'null') as SmallerImage | null; // Written by our own program.
    return made && { ...made, bytes: await readFile(to) };
  } finally {
    await rm(folder, { recursive: true, force: true });
    leave();
  }
}
