import { parseArgs } from 'node:util';
import { PlainError } from '../../scripts/terminal.ts';

export type FuzzOptions = {
  /** Equal seeds send equal requests, except for the ids that the API assigns. */
  readonly seed: number;
  readonly maxTimeSeconds: number;
  /** Everything after `--`, for Schemathesis, such as `--include-path /posts`. */
  readonly rest: readonly string[];
};

/**
 * Reads `--seed N`, `--max-time SECONDS` and the rest. Without a seed, a random one is used and printed, so that each
 * manual run tests other requests.
 *
 * @throws PlainError when a value is not a whole number.
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
