import { rm } from 'node:fs/promises';
import type { DataFolder } from './data-folder.ts';

/** The key of this start and its source. */
export type StartKey = {
  readonly value: string;
  /** Sentences that help the operator to find the right key. */
  readonly likelyMends: readonly string[];
  /** Removes a key that this start created: it would look like the right key, but the database does not know it. */
  readonly discard: () => Promise<void>;
};

const name = 'secret-key';
const bytes = 32;

/** `SECRET_KEY`, the key in the data folder, or a new one that is stored there. */
export async function chooseSecretKey(
  data: DataFolder,
  given: string | undefined,
): Promise<StartKey> {
  const file = data.path(name);
  const kept = await data.keptSecret(name, bytes);
  if (given !== undefined) {
    const orUnset =
      kept === undefined
        ? `or unset it and put the right key into ${file}`
        : `or unset it to use the key in ${file} again`;
    return {
      value: given,
      likelyMends: [`SECRET_KEY is set in the environment. Set it to the right key, ${orUnset}.`],
      discard: async () => undefined,
    };
  }

  return {
    value: await data.secret(name, bytes),
    likelyMends: [
      'SECRET_KEY was set in the environment at an earlier start: set it again.',
      `The file ${file} was ${kept === undefined ? 'lost' : 'replaced'}: restore the previous one.`,
    ],
    discard: () => (kept === undefined ? rm(file, { force: true }) : Promise.resolve()),
  };
}

/** The message for an operator whose key the database refuses. */
export const otherKeyMessage = (refusal: string, { likelyMends }: StartKey): string =>
  [
    /^.+?\)\./v.exec(refusal)?.[0] ?? refusal, // The rest is for processes that were started individually.
    'Most likely:',
    ...likelyMends.map((mend) => `- ${mend}`),
    'If the right key is lost, run',
    '    npm start -- --adopt-secret-key',
    'It accepts the key of this start. Then connect each account and register each webhook endpoint again.',
  ].join('\n');
