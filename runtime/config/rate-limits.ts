import { wholeNumber, type Env } from './read-values.ts';

/** Calls a minute, over all API processes together. */
export type RateLimits = {
  /** By an API key. */
  readonly requests: number;
  /** By an API key, of the calls that change something. They count as requests too. */
  readonly writes: number;
  /** With a wrong key, by a client address. */
  readonly wrongKeys: number;
};

const bounded = (otherwise: number) => ({ otherwise, least: 1, most: 1_000_000 });

export const rateLimits = (env: Env, problems: string[]): RateLimits => ({
  requests: wholeNumber(env, 'PUNCTUAL_RATE_LIMIT', bounded(120), problems),
  writes: wholeNumber(env, 'PUNCTUAL_RATE_LIMIT_WRITES', bounded(60), problems),
  wrongKeys: wholeNumber(env, 'PUNCTUAL_RATE_LIMIT_WRONG_KEYS', bounded(30), problems),
});

/** How many proxies stand before the API; each adds the address that it was called from to `X-Forwarded-For`. */
export const trustedProxies = (env: Env, problems: string[]): number =>
  wholeNumber(env, 'PUNCTUAL_TRUST_PROXY', { otherwise: 0, least: 0, most: 10 }, problems);
