import type { Quotas } from '../../domain/quotas.ts';
import { wholeNumber, type Env } from './read-values.ts';

const from = (least: 0 | 1, otherwise: number) => ({ otherwise, least, most: 1_000_000 });

/** Requests per minute, across all API processes. */
export type RateLimits = {
  readonly requests: number;
  /** Per API key: requests that change something. They count towards `requests` too. */
  readonly writes: number;
  /** Requests with an invalid key, per client address. */
  readonly wrongKeys: number;
};

export const rateLimits = (env: Env, problems: string[]): RateLimits => ({
  requests: wholeNumber(env, 'PUNCTUAL_RATE_LIMIT', from(1, 120), problems),
  writes: wholeNumber(env, 'PUNCTUAL_RATE_LIMIT_WRITES', from(1, 60), problems),
  wrongKeys: wholeNumber(env, 'PUNCTUAL_RATE_LIMIT_WRONG_KEYS', from(1, 30), problems),
});

/** Number of proxies in front of the API. Each appends its caller's address to `X-Forwarded-For`. */
export const trustedProxies = (env: Env, problems: string[]): number =>
  wholeNumber(env, 'PUNCTUAL_TRUST_PROXY', { otherwise: 0, least: 0, most: 10 }, problems);

/** Limits on concurrent use of one API process by one caller. 0 disables a limit. */
export type CallerLimits = {
  /** Connections per client address, and requests under way. */
  readonly perAddress: number;
  /** Requests under way with an API key. */
  readonly perKey: number;
  /** Bytes per second: a client that reads a response more slowly is disconnected. */
  readonly slowestReader: number;
};

export const callerLimits = (env: Env, problems: string[]): CallerLimits => ({
  perAddress: wholeNumber(env, 'PUNCTUAL_CONNECTIONS_PER_ADDRESS', from(0, 256), problems),
  perKey: wholeNumber(env, 'PUNCTUAL_REQUESTS_PER_KEY', from(0, 50), problems),
  slowestReader: wholeNumber(env, 'PUNCTUAL_SLOWEST_READER', from(0, 10_000), problems),
});

const upTo = (otherwise: number) => ({ otherwise, least: 0, most: 999_999_999_999_999 });

/** Default quotas of a workspace. The operator overrides them with `npm run admin -- quota set`. */
export const quotas = (env: Env, problems: string[]): Quotas => ({
  scheduled: wholeNumber(env, 'PUNCTUAL_QUOTA_SCHEDULED', upTo(10_000), problems),
  drafts: wholeNumber(env, 'PUNCTUAL_QUOTA_DRAFTS', upTo(10_000), problems),
  text_bytes: wholeNumber(env, 'PUNCTUAL_QUOTA_TEXT_BYTES', upTo(1_000_000_000), problems),
  files: wholeNumber(env, 'PUNCTUAL_QUOTA_FILES', upTo(10_000), problems),
  media_bytes: wholeNumber(env, 'PUNCTUAL_QUOTA_MEDIA_BYTES', upTo(10_000_000_000), problems),
  channels: wholeNumber(env, 'PUNCTUAL_QUOTA_CHANNELS', upTo(100), problems),
});

/** Retention in days; docs/running.md has the table. */
export type RetentionDays = {
  /** Ended webhook deliveries with their attempts, and events that no delivery needs. */
  readonly deliveries: number;
  /** Findings of the sweep. */
  readonly finds: number;
  /** Daily metrics of posts. */
  readonly metricDays: number;
  /** Files in the media library that no post uses; 0 keeps them forever. */
  readonly unusedMedia: number;
};

const days = (otherwise: number, least: number) => ({ otherwise, least, most: 36_500 });

export const retentionDays = (env: Env, problems: string[]): RetentionDays => ({
  deliveries: wholeNumber(env, 'PUNCTUAL_KEEP_DELIVERIES_DAYS', days(30, 1), problems),
  finds: wholeNumber(env, 'PUNCTUAL_KEEP_FINDS_DAYS', days(30, 1), problems),
  metricDays: wholeNumber(env, 'PUNCTUAL_KEEP_METRICS_DAYS', days(730, 1), problems),
  unusedMedia: wholeNumber(env, 'PUNCTUAL_KEEP_UNUSED_MEDIA_DAYS', days(0, 0), problems),
});
