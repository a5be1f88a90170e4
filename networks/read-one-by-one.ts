import type { PostReading } from './metrics.ts';
import { NetworkError } from './network.ts';

/** A call of a reader may take a minute, and its last request half of that. */
const usualPatienceMs = 20_000;

/**
 * Reads posts with a request each, or more. What was read before a failure stands, and so does what a slow server told in
 * time: the others are asked for again with the next read.
 *
 * @param readOne Null when the network tells nothing of the post.
 * @param patienceMs After that no further post is begun.
 * @throws NetworkError when the first one failed.
 */
export async function readOneByOne(
  remoteIds: readonly string[],
  readOne: (remoteId: string) => Promise<PostReading | null>,
  patienceMs: number = usualPatienceMs,
): Promise<Map<string, PostReading>> {
  const startedMs = performance.now();
  const readings = new Map<string, PostReading>();
  for (const [index, id] of remoteIds.entries()) {
    if (index > 0 && performance.now() - startedMs >= patienceMs) {
      return readings;
    }

    try {
      const reading = await readOne(id);
      if (reading) {
        readings.set(id, reading);
      }
    } catch (error) {
      if (readings.size > 0 && error instanceof NetworkError) {
        return readings;
      }
      throw error;
    }
  }

  return readings;
}
