import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { createFairQueue } from './fair-queue.ts';
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

type Wanted = {
  readonly maxBytes: number;
  readonly maxSide?: number;
  /** Transparency becomes white, for networks that take no WebP. */
  readonly isOpaque?: boolean | undefined;
  /** The workspace of the image. */
  readonly workspaceId?: string | undefined;
};

const program = fileURLToPath(new URL('shrink.ts', import.meta.url));
const bounds = { cpuSeconds: 60, timeoutMs: 90_000, dataMb: 2048, heapMb: 128 };

/**
 * Encodes an image anew, so that it has so few bytes: as a JPEG, or as a WebP where it has transparency to keep; smaller
 * where that must be. Of an animation its first frame. The same bytes and bounds give the same bytes, by the same version.
 *
 * A process of its own decodes it, within bounds.
 *
 * @param image The file; read to its end or destroyed.
 * @returns null for what cannot be decoded, within those bounds or at all.
 * @throws what kept the stream from being read, or the process from running; the signal's reason.
 */
export async function shrinkImage(
  image: Readable,
  { maxBytes, maxSide = 4000, isOpaque = false, workspaceId = '' }: Wanted,
  signal: AbortSignal,
): Promise<(SmallerImage & { readonly bytes: Buffer }) | null> {
  image.on('error', () => undefined); // It may break before it is read.
  const leave = await enter(workspaceId, signal).catch((error: unknown) => {
    image.destroy();
    throw error;
  });
  const folder = await mkdtemp(path.join(tmpdir(), 'punctual-image-'));
  const [from, to] = [path.join(folder, 'from'), path.join(folder, 'to')];
  try {
    await pipeline(image, createWriteStream(from, { mode: 0o600 }), { signal });
    const parameters = [from, to, String(maxBytes), String(maxSide), String(isOpaque)];
    const written = await runBounded(program, parameters, bounds, signal);
    const made = JSON.parse(written ?? 'null') as SmallerImage | null; // As our own program wrote it.
    return made && { ...made, bytes: await readFile(to) };
  } finally {
    await rm(folder, { recursive: true, force: true });
    leave();
  }
}
