import { wholeNumber, type Env } from './read-values.ts';

/** For how many days something is kept: docs/running.md has the table. */
export type Kept = {
  /** Webhook deliveries that have ended, with their attempts, and events that no delivery needs any more. */
  readonly deliveries: number;
  /** What sweeps found. */
  readonly finds: number;
  /** Files that no post has, in the media library; 0 is for good. */
  readonly unusedMedia: number;
};

const days = (otherwise: number, least: number) => ({ otherwise, least, most: 36_500 });

export const kept = (env: Env, problems: string[]): Kept => ({
  deliveries: wholeNumber(env, 'PUNCTUAL_KEEP_DELIVERIES_DAYS', days(30, 1), problems),
  finds: wholeNumber(env, 'PUNCTUAL_KEEP_FINDS_DAYS', days(30, 1), problems),
  unusedMedia: wholeNumber(env, 'PUNCTUAL_KEEP_UNUSED_MEDIA_DAYS', days(0, 0), problems),
});
