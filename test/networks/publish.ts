import type {
  Connection,
  PreparedPart,
  Network,
  Part,
  PartMedia,
  SentPart,
  Step,
} from '../../networks/network.ts';

/** Parts of a thread of the test's own. Keys differ from run to run, as they do between posts. */
export const partsOf = (...texts: readonly string[]): Part[] => partsWith([], ...texts);

/** The same, with files on the first part. */
export function partsWith(media: readonly PartMedia[], ...texts: readonly string[]): Part[] {
  const run = crypto.randomUUID().slice(0, 18);
  return texts.map((text, index) => ({
    key: `${run}-${index}`,
    text,
    media: index === 0 ? media : [],
    options: {},
  }));
}

/** What the database does with prepared parts between tries. Files are looked up anew. */
export const throughDatabase = (parts: readonly PreparedPart[]): PreparedPart[] =>
  parts.map((part) => ({ ...part, data: JSON.parse(JSON.stringify(part.data)) }));

/** The steps that remain: one for a thread that goes out at once, one for each part otherwise. */
export function nextStep(
  network: Network,
  parts: readonly PreparedPart[],
  sent: readonly SentPart[],
): Step {
  const rest = parts.slice(sent.length);
  return { parts: network.threads === 'atomic' ? rest : rest.slice(0, 1), sent };
}

/** Brings the files of a step to the network and sends it, as the ledger does. */
export async function sendStep(
  network: Network,
  connection: Connection,
  step: Step,
): Promise<SentPart[]> {
  return network.send(connection, step, await network.upload(connection, step));
}

/** How often a part is asked for before it counts as one that never shows. */
const mostLooks = 20;

/** Waits until a part that was sent can be seen, where the network tells. @returns its warning, if it has one. */
export async function untilReady(
  network: Network,
  connection: Connection,
  part: PreparedPart,
  sent: SentPart,
): Promise<string | undefined> {
  for (let looks = 0; network.readiness && looks < mostLooks; looks += 1) {
    const readiness = await network.readiness(connection, part, sent);
    if (readiness.kind === 'ready') {
      return readiness.warning;
    }
  }

  if (network.readiness) {
    throw new Error(`${sent.url} is not there after ${mostLooks} looks.`);
  }
  return undefined;
}

/** Publishes a thread when nothing goes wrong: prepare, then send step by step, until all of it can be seen. */
export async function publish(
  network: Network,
  connection: Connection,
  parts: readonly Part[],
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
