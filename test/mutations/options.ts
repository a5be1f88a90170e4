import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';

export type MutationOptions = {
  /** The root of the tree that is mutated (a copy of it) and tested. */
  readonly tree: string;
  /** Which mutations, by their file and fault. */
  readonly only: RegExp;
  /** Name them and run nothing. */
  readonly list: boolean;
};

/** @throws TypeError for an option that is unknown. @throws SyntaxError for an expression that is none. */
export function readOptions(args: readonly string[]): MutationOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      tree: { type: 'string', default: fileURLToPath(new URL('../..', import.meta.url)) },
      only: { type: 'string', default: '' },
      list: { type: 'boolean', default: false },
    },
  });
  return { tree: values.tree, only: new RegExp(values.only, 'v'), list: values.list };
}
