import { parseArgs } from 'node:util';
import { PlainError } from '../../scripts/terminal.ts';

export type ChaosOptions = {
  readonly posts: number;
  /** The seed determines posts and faults; their timing depends on the machine. */
  readonly seed: number;
  /** Temporal's dev server, or its production server on a PostgreSQL of its own. */
  readonly server: 'dev' | 'real';
  /** The length of the period with due times; undefined: as long as the outages need. */
  readonly minutes: number | undefined;
  /** Keeps the folder with the logs of all processes. */
  readonly keep: boolean;
};

/**
 * Reads `--posts N`, `--seed N`, `--server dev|real`, `--minutes M` and `--keep`. The default seed is random.
 *
 * @throws PlainError when an option is invalid.
 */
export function readOptions(args: readonly string[]): ChaosOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      posts: { type: 'string', default: '60' },
      seed: { type: 'string' },
      server: { type: 'string', default: 'dev' },
      minutes: { type: 'string' },
      keep: { type: 'boolean', default: false },
    },
  });
  const { posts, seed, server, minutes, keep } = values;
  if (server !== 'dev' && server !== 'real') {
    throw new PlainError(`--server must be "dev" or "real", not "${server}".`);
  }

  return {
    posts: wholeNumber('--posts', posts),
    seed: seed === undefined ? drawn() : wholeNumber('--seed', seed),
    server,
    minutes: minutes === undefined ? undefined : wholeNumber('--minutes', minutes),
    keep,
  };
}

const drawn = (): number => crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;

function wholeNumber(name: string, given: string): number {
  if (!/^[1-9]\d{0,9}$/v.test(given)) {
    throw new PlainError(`${name} must be a whole number above 0, not "${given}".`);
  }

  return Number(given);
}
