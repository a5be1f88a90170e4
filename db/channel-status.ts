import { sql, type RawBuilder } from 'kysely';
import type { ChannelErrorCode } from '../domain/channel-error.ts';
import { firstReadMs } from '../domain/metrics-schedule.ts';
import { sentText } from './ledger/live-parts.ts';

/*
 * How a post's channel changes its status. Every statement that does so takes one of these for its
 * `update post_channels pc set …`, and says in its `where` from which status.
 *
 *   draft ⇄ scheduled → publishing ⇄ retrying → published | failed | unconfirmed
 *
 * A cancel returns what is not being sent to draft, a retry a failed channel to scheduled, a person settles an unconfirmed
 * one as published or failed.
 */

/** Is to be published, or being published: it has not ended. */
export const isOpenChannel = sql<boolean>`pc.status in ('scheduled', 'publishing', 'retrying')`;

/** A try began, and the next one has not ended it. */
export const isUnderWay = sql<boolean>`pc.status in ('publishing', 'retrying')`;

/** A try begins. */
export const publishing = sql`status = 'publishing', retry_at = null, tried_at = clock_timestamp()`;

/** Clears what a try said, as nothing follows from it any more. */
export const waiting = (status: 'draft' | 'scheduled') =>
  sql`status = ${status}, error = null, error_code = null, retry_at = null`;

type Why = { readonly code: ChannelErrorCode; readonly error: string };

/** @param at When it is tried again; the database's present time where the next try says when. */
export const retrying = (
  { code, error }: Why,
  at: Date | RawBuilder<Date> = sql<Date>`clock_timestamp()`,
) => sql`status = 'retrying', error = ${error}, error_code = ${code}, retry_at = ${at}`;

export const published = (at: Date) =>
  sql`status = 'published', error = null, error_code = null, retry_at = null,
    published_at = coalesce(pc.published_at, ${at}), next_metrics_at = ${firstRead(at)}`;

/** @param why Its sentence may be an expression in SQL, for many channels at once. */
export const failed = ({
  code,
  error,
}: {
  readonly code: ChannelErrorCode;
  readonly error: string | RawBuilder<string>;
}) => sql`status = 'failed', error = ${error}, error_code = ${code}, retry_at = null`;

/** The network may or may not have the post, and nobody looks for it any more. */
export const unconfirmed = (error: string) =>
  sql`status = 'unconfirmed', error = ${error}, error_code = 'unconfirmed', retry_at = null`;

/** What a person says of an unconfirmed channel: where its post is, or that it is not there. */
export type Settled =
  | { readonly status: 'published'; readonly url: string | null; readonly publishedAt: Date }
  | ({ readonly status: 'failed' } & Why);

/** The ledger says by then which text is live. @param now When it was said. */
export const settled = (outcome: Settled, now: Date) =>
  outcome.status === 'published'
    ? sql`status = 'published', url = ${outcome.url}, error = null, error_code = null, retry_at = null,
        settled_at = ${now}, published_at = ${outcome.publishedAt}, sent_text = ${sentText},
        next_metrics_at = ${firstRead(now)}`
    : sql`${failed(outcome)}, url = null, settled_at = ${now}, published_at = null, sent_text = null`;

const firstRead = (at: Date): Date => new Date(at.getTime() + firstReadMs);

/** The same as `waiting`, for the entity of a channel that an edit makes wait. */
export const waitingRow = <Status extends 'draft' | 'scheduled'>(status: Status) => ({
  status,
  error: null,
  errorCode: null,
  retryAt: null,
});
