import { wholeNumber, type Env } from './read-values.ts';

/** What one caller may hold of an API process at the same time. 0 is no bound. */
export type Crowds = {
  /** Connections by a client address, and requests under way. */
  readonly perAddress: number;
  /** Requests under way with an API key. */
  readonly perKey: number;
  /** In bytes a second: a client that takes an answer more slowly is cut off. */
  readonly slowestReader: number;
};

const bounded = (otherwise: number) => ({ otherwise, least: 0, most: 1_000_000 });

export const crowds = (env: Env, problems: string[]): Crowds => ({
  perAddress: wholeNumber(env, 'PUNCTUAL_CONNECTIONS_PER_ADDRESS', bounded(256), problems),
  perKey: wholeNumber(env, 'PUNCTUAL_REQUESTS_PER_KEY', bounded(50), problems),
  slowestReader: wholeNumber(env, 'PUNCTUAL_SLOWEST_READER', bounded(10_000), problems),
});
