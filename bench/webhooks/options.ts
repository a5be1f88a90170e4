import { parseArgs } from 'node:util';
import { count } from '../count.ts';
import type { HungPlan } from './hung.ts';

export type Options = {
  /** In each round, for each contender. */
  readonly deliveries: number;
  readonly rounds: number;
  /** What is measured, of `bare`, `punctual`, `isolation` and `hung`. */
  readonly only: readonly string[];
  readonly hung: HungPlan;
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
      endpoints: { type: 'string', default: '100' },
      waiting: { type: 'string', default: '400' },
      profile: { type: 'string' },
    },
  });
  return {
    deliveries: count(values.deliveries),
    rounds: count(values.rounds),
    only: values.only.split(','),
    hung: { endpoints: count(values.endpoints), waiting: count(values.waiting) },
    profile: values.profile,
  };
}
