import { parseArgs } from 'node:util';
import { count } from '../count.ts';

export type Options = {
  /** In each round, for each contender. */
  readonly deliveries: number;
  readonly rounds: number;
  /** What is measured, of `bare`, `punctual` and `isolation`. */
  readonly only: readonly string[];
  /** A folder for what Node says of where a worker's time goes. */
  readonly profile: string | undefined;
};

/** @throws TypeError for an option that there is not. @throws RangeError for a number that is none. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      deliveries: { type: 'string', default: '5000' },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string', default: 'bare,punctual,isolation' },
      profile: { type: 'string' },
    },
  });
  return {
    deliveries: count(values.deliveries),
    rounds: count(values.rounds),
    only: values.only.split(','),
    profile: values.profile,
  };
}
