import { sql } from 'kysely';
import type { ChannelErrorCode } from '../domain/channel-error.ts';
import type { ChannelStatus } from '../domain/post-status.ts';
import {
  isUnderWay,
  retryingValues,
  settledValues,
  waitingValues,
  type Settled,
} from './channel-status.ts';
import { hasOpenPart, isWholeThreadLive } from './ledger/live-parts.ts';
import type { Em } from './orm.ts';
import { query } from './query.ts';

// Changes of a post's channels by API calls. Callers hold the post's lock.

type Scope = { readonly workspaceId: string; readonly postId: string };

const awaitingReconcile = {
  code: 'network_unavailable',
  error:
    'The network was asked to publish, but it is not known yet whether it has the post. The next attempt checks.',
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
 * Makes drafts of the channels of a post that becomes a draft. Row locks of the channels separate this from the start
 * of a send. A channel with an open part continues to be reconciled, because as a draft it could be sent again. So does
 * a channel whose thread is completely live although a late attempt reports a failure.
 */
export async function stopChannels(em: Em, { workspaceId, postId }: Scope): Promise<void> {
  await query(
    em,
    sql`update post_channels pc set ${retryingValues(awaitingReconcile)}
        where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId}
          and pc.status = 'scheduled' and (${hasOpenPart} or ${isWholeThreadLive})`,
  );
  await query(
    em,
    sql`update post_channels pc set ${waitingValues('draft')}
        where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId}
          and (pc.status = 'scheduled' or pc.status = 'retrying' and not (${hasOpenPart} or ${isWholeThreadLive}))`,
  );
}

/**
 * Likewise for an edited draft, because a cancelled channel would finish with the old text. Open parts are still
 * reconciled, and live parts stay.
 */
export async function stopFinishing(em: Em, { workspaceId, postId }: Scope): Promise<void> {
  await query(
    em,
    sql`update post_channels pc set ${waitingValues('draft')}
        where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} and ${isUnderWay}
          and not (${hasOpenPart} or ${isWholeThreadLive})`,
  );
}

/**
 * Schedules the failed channels with these error codes again, except disconnected ones. Locks the connected channels
 * until the transaction ends.
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
      with connected as materialized (
        select c.id from channels c
        where c.workspace_id = ${workspaceId} and c.disconnected_at is null and c.id = any(array(
          select channel_id from post_channels where post_id = ${postId} and workspace_id = ${workspaceId}))
        order by c.id for key share)
      update post_channels pc set ${waitingValues('scheduled')}, tries = 0
      where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} and pc.status = 'failed'
        and coalesce(pc.error_code, 'internal') = any(${reasons})
        and pc.channel_id = coalesce(${only}::uuid, pc.channel_id)
        and pc.channel_id in (select id from connected)
      returning pc.channel_id, pc.position`,
  );
  return rows.toSorted((a, b) => a.position - b.position).map((row) => row.channel_id);
}

/** Settles an unconfirmed channel. @param now Time of the settlement. */
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
}
