import type {
  Connection,
  PreparedPart,
  Network,
  ThreadPart,
  PartMedia,
  SentPart,
  PublishStep,
} from '../../networks/network.ts';

/** Parts of a thread. Their keys differ between runs, as they do between posts. */
export const partsOf = (...texts: readonly string[]): ThreadPart[] => partsWith([], ...texts);

/** The same, with files on the first part. */
export function partsWith(media: readonly PartMedia[], ...texts: readonly string[]): ThreadPart[] {
  const run = crypto.randomUUID().slice(0, 18);
  return texts.map((text, index) => ({
    key: `${run}-${index}`,
    text,
    media: index === 0 ? media : [],
    options: {},
  }));
}

/** Serialises prepared parts as the database does between attempts: jsonb keeps no order. Files are not stored with them. */
export const throughDatabase = (parts: readonly PreparedPart[]): PreparedPart[] =>
  parts.map((part) => ({ ...part, data: JSON.parse(JSON.stringify(part.data), reversed) }));

const reversed = (_: string, value: unknown): unknown =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toReversed())
    : value;

/** The remaining parts: all of a thread that is sent at once, otherwise the next part. */
export function nextStep(
  network: Network,
  parts: readonly PreparedPart[],
  sent: readonly SentPart[],
): PublishStep {
  const rest = parts.slice(sent.length);
  return { parts: network.threads === 'atomic' ? rest : rest.slice(0, 1), sent };
}

/** Uploads the files of a step and sends it, as the ledger does. */
export async function sendStep(
  network: Network,
  connection: Connection,
  step: PublishStep,
): Promise<SentPart[]> {
  return network.send(connection, step, await network.upload(connection, step));
}

/** The number of polls after which a part counts as never visible. */
const maxPolls = 20;

/** Waits until a sent part is visible, if the network shows that. @returns its warning, if any. */
export async function untilReady(
  network: Network,
  connection: Connection,
  part: PreparedPart,
  sent: SentPart,
): Promise<string | undefined> {
  for (let polls = 0; network.readiness && polls < maxPolls; polls += 1) {
    const readiness = await network.readiness(connection, part, sent);
    if (readiness.kind === 'ready') {
      return readiness.warning;
    }
  }

  if (network.readiness) {
    throw new Error(`${sent.url} is not visible after ${maxPolls} polls.`);
  }
  return undefined;
}

/** Publishes a thread without failures: prepares it, and sends it step by step until all of it is visible. */
export async function publish(
  network: Network,
  connection: Connection,
  parts: readonly ThreadPart[],
): Promise<{ prepared: PreparedPart[]; sent: SentPart[] }> {
  const prepared = throughDatabase(await network.prepare(connection, parts, Date.now()));
  const sent: SentPart[] = [];
  while (sent.length < prepared.length) {
    sent.push(...(await sendStep(network, connection, nextStep(network, prepared, sent))));
  }

  for (const [index, part] of prepared.entries()) {
    const post = sent[index];
    if (post) {
      await untilReady(network, connection, part, post);
    }
  }

  return { prepared, sent };
}
