import { parseArgs } from 'node:util';
import { count } from '../count.ts';

export type Options = {
  /** How many posts are due at once, and with how many channels each: every pair is measured. */
  readonly posts: readonly number[];
  readonly channels: readonly number[];
  /** How often each is measured; undefined: as often as time allows. */
  readonly rounds: number | undefined;
  /** Only these, to look at one more closely: then there is nothing to compare. */
  readonly contenders: readonly string[];
  /** The peer has as many posts as the others, however long it takes. */
  readonly wholePeer: boolean;
  /** A folder for what Node says of where a worker's time goes. */
  readonly profile: string | undefined;
};

/** @throws TypeError for an option that there is not. @throws RangeError for a number that is none. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      posts: { type: 'string', default: '300,2000' },
      channels: { type: 'string', default: '1,5' },
      rounds: { type: 'string' },
      only: { type: 'string', default: 'bare,punctual,peer' },
      'whole-peer': { type: 'boolean', default: false },
      profile: { type: 'string' },
    },
  });
  return {
    posts: values.posts.split(',').map(count),
    channels: values.channels.split(',').map(count),
    rounds: values.rounds === undefined ? undefined : count(values.rounds),
    contenders: values.only.split(','),
    wholePeer: values['whole-peer'],
    profile: values.profile,
  };
}
