import { sql, type RawBuilder } from 'kysely';
import type { ChannelErrorCode } from '../domain/channel-error.ts';
import { firstReadMs } from '../domain/metrics-schedule.ts';
import { sentText } from './ledger/live-parts.ts';

/*
 * Values for each status change of a post's channel. Every `update post_channels pc set …` uses one of these, and its
 * `where` restricts the previous status.
 *
 *   draft ⇄ scheduled → publishing ⇄ retrying → published | failed | unconfirmed
 *
 * A cancel returns channels that are not being sent to draft, a retry returns a failed channel to scheduled, and
 * settling makes an unconfirmed channel published or failed.
 */

/** SQL: the channel is scheduled or being published. */
export const isOpenChannel = sql<boolean>`pc.status in ('scheduled', 'publishing', 'retrying')`;

/** SQL: an attempt began, and the channel has not ended. */
export const isUnderWay = sql<boolean>`pc.status in ('publishing', 'retrying')`;

/** For the start of an attempt. */
export const publishingValues = sql`status = 'publishing', retry_at = null, tried_at = clock_timestamp()`;

/** Clears the last attempt's error. */
export const waitingValues = (status: 'draft' | 'scheduled') =>
  sql`status = ${status}, error = null, error_code = null, retry_at = null`;

type Why = { readonly code: ChannelErrorCode; readonly error: string };

/** @param at Time of the next attempt. Default: the database's current time, if the attempt itself decides. */
export const retryingValues = (
  { code, error }: Why,
  at: Date | RawBuilder<Date> = sql<Date>`clock_timestamp()`,
) => sql`status = 'retrying', error = ${error}, error_code = ${code}, retry_at = ${at}`;

export const publishedValues = (at: Date) =>
  sql`status = 'published', error = null, error_code = null, retry_at = null,
    published_at = coalesce(pc.published_at, ${at}), next_metrics_at = ${firstRead(at)}`;

/** @param error May be an SQL expression, for updates of many channels. */
export const failedValues = ({
  code,
  error,
}: {
  readonly code: ChannelErrorCode;
  readonly error: string | RawBuilder<string>;
}) => sql`status = 'failed', error = ${error}, error_code = ${code}, retry_at = null`;

/** The network may or may not have the post, and no further reconcile follows. */
export const unconfirmedValues = (error: string) =>
  sql`status = 'unconfirmed', error = ${error}, error_code = 'unconfirmed', retry_at = null`;

/** How an unconfirmed channel was settled: the URL of its post, or that it does not exist. */
export type Settled =
  | { readonly status: 'published'; readonly url: string | null; readonly publishedAt: Date }
  | ({ readonly status: 'failed' } & Why);

/** Requires that the ledger is settled already, for `sent_text`. @param now Time of the settlement. */
export const settledValues = (outcome: Settled, now: Date) =>
  outcome.status === 'published'
    ? sql`status = 'published', url = ${outcome.url}, error = null, error_code = null, retry_at = null,
        settled_at = ${now}, published_at = ${outcome.publishedAt}, sent_text = ${sentText},
        next_metrics_at = ${firstRead(now)}`
    : sql`${failedValues(outcome)}, url = null, settled_at = ${now}, published_at = null, sent_text = null`;

const firstRead = (at: Date): Date => new Date(at.getTime() + firstReadMs);

/** Like `waitingValues`, for a channel's entity. */
export const waitingRow = <Status extends 'draft' | 'scheduled'>(status: Status) => ({
  status,
  error: null,
  errorCode: null,
  retryAt: null,
});
