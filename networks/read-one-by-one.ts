import type { PostReading } from './metrics.ts';
import { NetworkError } from './network.ts';

/** A call of a reader may take a minute, and its last request half of that. */
const usualPatienceMs = 20_000;

/** A server that fails so often in a row is in trouble itself, and it is not one of the posts. */
const mostFailures = 3;

/**
 * Reads posts with a request each, or more. What was read before a failure stands, and so does what a slow server told in
 * time: the others are `unasked`. A post that the server fails at keeps no others from being read: it would stand before
 * them each time.
 *
 * @param readOne Null when the network tells nothing of the post.
 * @param patienceMs After that no further post is begun.
 * @throws NetworkError the first one, when nothing was read.
 */
export async function readOneByOne(
  remoteIds: readonly string[],
  readOne: (remoteId: string) => Promise<PostReading | null>,
  patienceMs: number = usualPatienceMs,
): Promise<Map<string, PostReading>> {
  const startedMs = performance.now();
  const readings = new Map<string, PostReading>();
  const failures: NetworkError[] = [];
  let inARow = 0;
  for (const [index, id] of remoteIds.entries()) {
    if (index > 0 && performance.now() - startedMs >= patienceMs) {
      return ended(readings, failures, remoteIds.slice(index));
    }

    try {
      const reading = await readOne(id);
      inARow = 0;
      if (reading) {
        readings.set(id, reading);
      }
    } catch (error) {
      if (!(error instanceof NetworkError)) {
        throw error;
      }

      failures.push(error);
      inARow += 1;
      const isOver = !isOfPost(error);
      if (isOver || inARow === mostFailures) {
        return ended(readings, failures, remoteIds.slice(isOver ? index : index + 1));
      }
    }
  }

  return ended(readings, failures, []);
}

/** The server answered, and may have other answers for other posts. */
const isOfPost = ({ code, server, retryAtMs }: NetworkError): boolean =>
  code === 'network_unavailable' && server === 'answered' && retryAtMs === undefined;

function ended(
  readings: Map<string, PostReading>,
  [first]: readonly NetworkError[],
  unasked: readonly string[],
): Map<string, PostReading> {
  if (first && readings.size === 0) {
    throw first;
  }

  for (const id of unasked) {
    readings.set(id, { kind: 'unasked' });
  }

  return readings;
}
