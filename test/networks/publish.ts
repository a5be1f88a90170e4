import type {
  Connection,
  FrozenPart,
  Network,
  Part,
  SentPart,
  Step,
} from '../../networks/network.ts';

/** Parts of a thread of the test's own. Keys differ from run to run, as they do between posts. */
export function partsOf(...texts: readonly string[]): Part[] {
  const run = crypto.randomUUID().slice(0, 18);
  return texts.map((text, index) => ({ key: `${run}-${index}`, text }));
}

/** What the database does with frozen parts between tries. */
export const throughDatabase = (parts: readonly FrozenPart[]): FrozenPart[] =>
  JSON.parse(JSON.stringify(parts));

/** The steps that remain: one for a thread that goes out at once, one for each part otherwise. */
export function nextStep(
  network: Network,
  parts: readonly FrozenPart[],
  sent: readonly SentPart[],
): Step {
  const rest = parts.slice(sent.length);
  return { parts: network.threads === 'atomic' ? rest : rest.slice(0, 1), sent };
}

/** Publishes a thread when nothing goes wrong: freeze, then send step by step. */
export async function publish(
  network: Network,
  connection: Connection,
  parts: readonly Part[],
): Promise<{ frozen: FrozenPart[]; sent: SentPart[] }> {
  const frozen = throughDatabase(await network.freeze(connection, parts, Date.now()));
  const sent: SentPart[] = [];
  while (sent.length < frozen.length) {
    sent.push(...(await network.send(connection, nextStep(network, frozen, sent))));
  }

  return { frozen, sent };
}
