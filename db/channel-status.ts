import { sql, type RawBuilder } from 'kysely';
import type { ChannelErrorCode } from '../domain/channel-error.ts';
import { firstReadMs } from '../domain/metrics-schedule.ts';
import type { Unpublish } from '../domain/post-view.ts';
import type { ShownChannelStatus } from '../domain/statuses.ts';

/*
 * Conditions on the status of a post's channel `pc`, and the values for each change of it. Every
 * `update post_channels pc set …` uses one of these values, and its `where` restricts the previous status.
 * Changes by calls are in `domain/channel-changes.ts`.
 *
 *   draft ⇄ scheduled → publishing ⇄ retrying → published | failed | unconfirmed
 */

export const isOpenChannel = sql<boolean>`pc.status in ('scheduled', 'publishing', 'retrying')`;

/** SQL: an attempt began, and the channel has not ended. */
export const isUnderWay = sql<boolean>`pc.status in ('publishing', 'retrying')`;

/** SQL: the channel has ended, but was not or not certainly published. */
export const isFailedOrUnconfirmed = sql<boolean>`pc.status in ('failed', 'unconfirmed')`;

/** SQL: the removal of the channel's post has not ended. */
export const isBeingRemoved = sql<boolean>`pc.unpublish->>'status' = 'pending'`;

/**
 * SQL: the status that clients see, of a channel `pc` of the post `p`. Its attempt uploads files before it stores
 * anything, so a scheduled channel of a publishing post may be under way.
 */
export const shownStatus = sql<ShownChannelStatus>`case
  when pc.status = 'published' and pc.unpublish->>'status' in ('removed', 'not_found') then 'removed'
  when pc.status = 'scheduled' and p.status = 'publishing' then 'publishing' else pc.status end`;

export const unpublishValues = (unpublish: Unpublish) =>
  sql`unpublish = ${JSON.stringify(unpublish)}::jsonb`;

/** For the first intent of an attempt. */
export const publishingValues = sql`status = 'publishing', retry_at = null, tried_at = clock_timestamp()`;

/** Clears the last attempt's error. */
export const waitingValues = (status: 'draft' | 'scheduled') =>
  sql`status = ${status}, error = null, error_code = null, retry_at = null`;

/** The code may be an SQL expression, for updates of many channels. */
type Why = { readonly code: ChannelErrorCode | RawBuilder<string>; readonly error: string };

export const retryingValues = ({ code, error }: Why, at: Date) =>
  sql`status = 'retrying', error = ${error}, error_code = ${code}, retry_at = ${at}`;

export const publishedValues = (at: Date) =>
  sql`status = 'published', error = null, error_code = null, retry_at = null,
    published_at = coalesce(pc.published_at, ${at}),
    next_metrics_at = ${new Date(at.getTime() + firstReadMs)}`;

export const failedValues = ({ code, error }: Why) =>
  sql`status = 'failed', error = ${error}, error_code = ${code}, retry_at = null`;

/** The network may or may not have the post, and no further reconcile follows. */
export const unconfirmedValues = (error: string) =>
  sql`status = 'unconfirmed', error = ${error}, error_code = 'unconfirmed', retry_at = null`;
