import { sql, type RawBuilder } from 'kysely';
import { finalAdvice, type ChannelErrorCode } from '../domain/channel-error.ts';
import { firstReadMs } from '../domain/metrics-schedule.ts';
import type { Unpublish } from '../domain/post-view.ts';
import type { ChannelStatus, ShownChannelStatus } from '../domain/statuses.ts';
import {
  sentText,
  hasOpenPart,
  hasSentPart,
  isWholeThreadLive,
  livePartsText,
} from './ledger/parts.ts';
import type { Em } from './orm.ts';
import { query } from './query.ts';

/*
 * Conditions on the status of a post's channel `pc`, and the values for each change of it. Every
 * `update post_channels pc set …` uses one of these values, and its `where` restricts the previous status.
 *
 *   draft ⇄ scheduled → publishing ⇄ retrying → published | failed | unconfirmed
 *
 * A cancel returns channels that are not being sent to draft, or to failed with `cancelled` if a part is live. A retry returns a failed channel to scheduled, and
 * settling makes an unconfirmed channel published or failed; a correction, either into the other.
 */

/** SQL: the channel is scheduled or being published. */
export const isOpenChannel = sql<boolean>`pc.status in ('scheduled', 'publishing', 'retrying')`;

/** SQL: an attempt began, and the channel has not ended. */
export const isUnderWay = sql<boolean>`pc.status in ('publishing', 'retrying')`;

/** SQL: the channel has ended: nothing more is sent without a retry. */
export const isEndedChannel = sql<boolean>`pc.status in ('published', 'failed', 'unconfirmed')`;

/** SQL: the channel has ended, but was not or not certainly published. */
export const isFailedOrUnconfirmed = sql<boolean>`pc.status in ('failed', 'unconfirmed')`;

/** SQL: whether the channel may be sent again: its live parts are not removed, nor being removed. */
export const isNotWithheld = sql<boolean>`coalesce(pc.unpublish->>'status', 'failed') in ('failed', 'unsupported')`;

/** SQL: the removal of the channel's post has not ended. */
export const isBeingRemoved = sql<boolean>`pc.unpublish->>'status' = 'pending'`;

/** SQL: the status that clients see. */
export const shownStatus = sql<ShownChannelStatus>`case when pc.status = 'published'
  and pc.unpublish->>'status' in ('removed', 'not_found') then 'removed' else pc.status end`;

/** Stores the state of a removal. */
export const unpublishValues = (unpublish: Unpublish) =>
  sql`unpublish = ${JSON.stringify(unpublish)}::jsonb`;

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

/** Both may be SQL expressions, for updates of many channels. */
export const failedValues = ({
  code,
  error,
}: {
  readonly code: ChannelErrorCode | RawBuilder<string>;
  readonly error: string | RawBuilder<string>;
}) => sql`status = 'failed', error = ${error}, error_code = ${code}, retry_at = null`;

/** The network may or may not have the post, and no further reconcile follows. */
export const unconfirmedValues = (error: string) =>
  sql`status = 'unconfirmed', error = ${error}, error_code = 'unconfirmed', retry_at = null`;

/** How an unconfirmed channel was settled: the URL of its post, or that it does not exist. */
export type Settled =
  | { readonly status: 'published'; readonly url: string | null; readonly publishedAt: Date }
  | ({ readonly status: 'failed' } & Why);

/**
 * Requires that the ledger is settled already, for `sent_text`. Clears what was known of the post that an earlier
 * settlement named. @param now Time of the settlement.
 */
const settledValues = (outcome: Settled, now: Date) =>
  sql`settled_at = ${now}, unpublish = null, metrics = null, metrics_updated_at = null, gone_at = null, ${
    outcome.status === 'published'
      ? sql`status = 'published', url = ${outcome.url}, error = null, error_code = null, retry_at = null,
          published_at = ${outcome.publishedAt}, sent_text = ${sentText}, next_metrics_at = ${firstRead(now)}`
      : sql`${failedValues(outcome)}, url = null, published_at = null, sent_text = null, next_metrics_at = null`
  }`;

const firstRead = (at: Date): Date => new Date(at.getTime() + firstReadMs);

/** Like `waitingValues`, for a channel's entity. Its owner sends it again, so an earlier removal is over. */
export const waitingRow = <Status extends 'draft' | 'scheduled'>(status: Status) => ({
  status,
  unpublish: null,
  error: null,
  errorCode: null,
  retryAt: null,
});

/* Changes of a post's channels by API calls. Callers hold the post's lock. */

type Scope = { readonly workspaceId: string; readonly postId: string };

const awaitingReconcile = {
  code: 'network_unavailable',
  error:
    'The network was asked to publish, but it is not known yet whether it has the post. The next attempt checks.',
} as const;

const cancelledMidway = {
  code: 'cancelled',
  error: sql<string>`concat_ws(' ', 'The post was cancelled.', ${livePartsText}, ${finalAdvice.cancelled}::text)`,
} as const;

/** Locks the channels of a post, after the post. @returns their statuses. */
export async function lockChannels(
  em: Em,
  { workspaceId, postId }: Scope,
): Promise<ChannelStatus[]> {
  const rows = await query(
    em,
    sql<{ status: ChannelStatus }>`
      select status from post_channels where post_id = ${postId} and workspace_id = ${workspaceId}
      order by id for update`,
  );
  return rows.map(({ status }) => status);
}

/**
 * Stops the channels of a post that becomes a draft, except those that are being sent. Row locks of the channels
 * separate this from the start of a send. A channel with an open part continues to be reconciled, because as a draft it
 * could be sent again. So does a channel whose thread is completely live although a late attempt reports a failure.
 */
export async function stopChannels(em: Em, { workspaceId, postId }: Scope): Promise<void> {
  const ofPost = sql`pc.post_id = ${postId} and pc.workspace_id = ${workspaceId}`;
  const isInDoubt = sql`(${hasOpenPart} or ${isWholeThreadLive})`;
  await query(
    em,
    sql`update post_channels pc set ${retryingValues(awaitingReconcile)}
        where ${ofPost} and pc.status = 'scheduled' and ${isInDoubt}`,
  );
  const waits = sql`${ofPost} and (pc.status = 'scheduled' or pc.status = 'retrying' and not ${isInDoubt})`;
  await query(
    em,
    sql`update post_channels pc set ${failedValues(cancelledMidway)} where ${waits} and ${hasSentPart}`,
  );
  await query(em, sql`update post_channels pc set ${waitingValues('draft')} where ${waits}`);
}

/**
 * Schedules the failed channels with these error codes again, except disconnected ones.
 *
 * @param only Restricts it to one channel.
 * @returns the ids of those channels, in the order of the post.
 */
export async function retryChannels(
  em: Em,
  { workspaceId, postId }: Scope,
  reasons: readonly ChannelErrorCode[],
  only: string | null = null,
): Promise<string[]> {
  const rows = await query(
    em,
    sql<{ channel_id: string; position: number }>`
      update post_channels pc set ${waitingValues('scheduled')}, tries = 0, text_due_at = now()
      where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} and pc.status = 'failed'
        and coalesce(pc.error_code, 'internal') = any(${reasons}) and ${isNotWithheld}
        and pc.channel_id = coalesce(${only}::uuid, pc.channel_id)
        and exists (select from channels c
          where c.id = pc.channel_id and c.workspace_id = pc.workspace_id and c.disconnected_at is null)
      returning pc.channel_id, pc.position`,
  );
  return rows.toSorted((a, b) => a.position - b.position).map((row) => row.channel_id);
}

/** Settles a channel, or corrects its settlement. @param now Time of the settlement. */
export async function settleChannel(
  em: Em,
  workspaceId: string,
  postChannelId: string,
  outcome: Settled,
  now: Date,
): Promise<void> {
  await query(
    em,
    sql`update post_channels pc set ${settledValues(outcome, now)}
        where pc.id = ${postChannelId} and pc.workspace_id = ${workspaceId}`,
  );
  await query(
    em,
    sql`delete from metric_days where post_channel_id = ${postChannelId} and workspace_id = ${workspaceId}`,
  );
}
