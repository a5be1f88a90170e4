import { NetworkError, type MetricName, type PostReading } from './network.ts';

/** Larger counts are ignored as errors. */
const mostOfAnything = 1e12;

/** A count from a network; undefined when it is absent, hidden, or not a whole number from 0. */
export const countIn = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= mostOfAnything
    ? value
    : undefined;

/** The members of an answer that hold the metrics. Further members of a metric are added to its first one. */
type MetricFields = Readonly<Partial<Record<MetricName, string | readonly string[]>>>;

/** The reading of a post that exists. Values that are not counts are left out. */
export function readingOf(answer: object, fields: MetricFields, countOf = countIn): PostReading {
  const values: Readonly<Record<string, unknown>> = { ...answer };
  const counts = Object.entries(fields).map(([name, members]) => {
    const [first, ...beside] = [members].flat().map((member) => countOf(values[member]));
    const sum = beside.reduce<number>((all, more) => all + (more ?? 0), first ?? 0);
    return [name, first === undefined ? undefined : countIn(sum)];
  });
  return {
    kind: 'read',
    metrics: Object.fromEntries(counts.filter(([, count]) => count !== undefined)),
  };
}

/**
 * Adds the posts that one answer for several posts did not contain, and leaves out those that were not requested.
 *
 * @param absence Whether a post is gone; null when the network does not say so. A failure is repeated with the next
 *   batch, and does not affect the other posts.
 */
export async function withMissing(
  remoteIds: readonly string[],
  read: Iterable<readonly [string, PostReading]>,
  absence: (remoteId: string) => Promise<PostReading | null>,
): Promise<Map<string, PostReading>> {
  const readings = [...read].filter(([id]) => remoteIds.includes(id));
  const missing = remoteIds.filter((id) => !readings.some(([known]) => known === id));
  const gone = await readOneByOne(missing, (id) => absence(id).catch(() => null));
  return new Map([...readings, ...gone]);
}

/** A reader's call may take a minute, and its last request half of that. */
const usualPatienceMs = 20_000;

/** After this many failures in a row the server itself has a problem, not one post. */
const mostFailures = 3;

/**
 * Reads posts with one or more requests each. On a failure or when time runs out, the readings so far count, and the
 * other posts are `unasked`. A post that the server fails on does not end the reading, because it would block the
 * others each time.
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

/** The server answered, so the failure may concern only this post. */
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
