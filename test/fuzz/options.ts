import { parseArgs } from 'node:util';
import { PlainError } from '../../scripts/terminal.ts';

export type FuzzOptions = {
  /** Equal seeds send equal requests, apart from the ids that the API gives. */
  readonly seed: number;
  readonly maxTimeSeconds: number;
  /** Everything after `--`: passed on to Schemathesis, such as `--include-path /posts`. */
  readonly rest: readonly string[];
};

/**
 * Reads `--seed N`, `--max-time SECONDS` and what follows. Without a seed one is drawn, and printed, so that every
 * run by hand looks somewhere else.
 *
 * @throws PlainError when a number is none.
 */
export function readOptions(args: readonly string[]): FuzzOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { seed: { type: 'string' }, 'max-time': { type: 'string', default: '90' } },
  });
  return {
    seed: values.seed === undefined ? drawn() : wholeNumber('--seed', values.seed),
    maxTimeSeconds: wholeNumber('--max-time', values['max-time']),
    rest: positionals,
  };
}

const drawn = (): number => crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;

function wholeNumber(name: string, given: string): number {
  if (!/^\d{1,10}$/v.test(given)) {
    throw new PlainError(`${name} takes a whole number, not "${given}".`);
  }

  return Number(given);
}
