import { rm } from 'node:fs/promises';
import type { DataFolder } from './data-folder.ts';

/** The key of this start, and where it comes from. */
export type StartKey = {
  readonly value: string;
  /** Sentences for the operator who has to find the right one. */
  readonly likelyMends: readonly string[];
  /** Takes back what this start made: a file with a key that the database does not know would pass for the right one. */
  readonly discard: () => Promise<void>;
};

const name = 'secret-key';
const bytes = 32;

/** `SECRET_KEY`, or what lies in the data folder, or a new one that is put there. */
export async function chooseSecretKey(
  data: DataFolder,
  given: string | undefined,
): Promise<StartKey> {
  const file = data.path(name);
  const kept = await data.keptSecret(name, bytes);
  if (given !== undefined) {
    const orUnset =
      kept === undefined
        ? `or unset it and put the right one into ${file}`
        : `or unset it: then that of ${file} is used again`;
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
      `The file ${file} was ${kept === undefined ? 'lost' : 'replaced'}: put the one of before back.`,
    ],
    discard: () => (kept === undefined ? rm(file, { force: true }) : Promise.resolve()),
  };
}

/** What a person reads whose key the database refuses. */
export const otherKeyWords = (refusal: string, { likelyMends }: StartKey): string =>
  [
    /^.+?\)\./v.exec(refusal)?.[0] ?? refusal, // What follows is for processes that were started one by one.
    'Most likely:',
    ...likelyMends.map((mend) => `- ${mend}`),
    'If the right key is gone for good, type',
    '    npm start -- --adopt-secret-key',
    'It takes the key of this start for the right one. Then each account has to be connected anew, and each webhook endpoint registered anew.',
  ].join('\n');
