import { parseArgs } from 'node:util';
import { PlainError } from '../../scripts/terminal.ts';

export type ChaosOptions = {
  readonly posts: number;
  /** The same seed plans the same posts and faults; how they meet is up to the machine. */
  readonly seed: number;
  /** Temporal's dev server, or its production server on a PostgreSQL of its own. */
  readonly server: 'dev' | 'real';
  /** Over how long the posts' times are spread; undefined: as long as the outages need. */
  readonly minutes: number | undefined;
  /** Keeps the folder with every process's log. */
  readonly keep: boolean;
};

/**
 * Reads `--posts N`, `--seed N`, `--server dev|real`, `--minutes M` and `--keep`. A seed that is not given is drawn.
 *
 * @throws PlainError when one is not as it should be.
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
    throw new PlainError(`--server takes "dev" or "real", not "${server}".`);
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
    throw new PlainError(`${name} takes a whole number above 0, not "${given}".`);
  }

  return Number(given);
}
