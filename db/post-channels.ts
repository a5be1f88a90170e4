import { sql } from 'kysely';
import type { ChannelErrorCode } from '../domain/channel-error.ts';
import type { ChannelStatus } from '../domain/post-status.ts';
import { isUnderWay, retrying, settled, waiting, type Settled } from './channel-status.ts';
import { hasOpenPart, isLiveAsWhole } from './ledger/live-parts.ts';
import type { Em } from './orm.ts';
import { query } from './query.ts';

// What the owner's calls make of a post's channels. Callers hold the lock of the post.

type Scope = { readonly workspaceId: string; readonly postId: string };

const beingLookedFor = {
  code: 'network_unavailable',
  error:
    'The network was asked to publish, and whether it has the post is not known yet. It is looked for.',
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
 * Makes drafts of the channels of a post that becomes a draft. Each channel's row lock keeps this and the start of a send
 * apart. A channel whose last send is in doubt goes on being looked for, whatever it waited for: as a draft it could be
 * sent a second time. So does one that the network has whole while a try that knows nothing of it says that it failed.
 */
export async function stopChannels(em: Em, { workspaceId, postId }: Scope): Promise<void> {
  await query(
    em,
    sql`update post_channels pc set ${retrying(beingLookedFor)}
        where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId}
          and pc.status = 'scheduled' and (${hasOpenPart} or ${isLiveAsWhole})`,
  );
  await query(
    em,
    sql`update post_channels pc set ${waiting('draft')}
        where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId}
          and (pc.status = 'scheduled' or pc.status = 'retrying' and not (${hasOpenPart} or ${isLiveAsWhole}))`,
  );
}

/**
 * The same for a post that is a draft already, and says something else from now on: what a cancel lets finish would go
 * on with the old text. What is in doubt is looked for to its end, and what is live stays.
 */
export async function stopFinishing(em: Em, { workspaceId, postId }: Scope): Promise<void> {
  await query(
    em,
    sql`update post_channels pc set ${waiting('draft')}
        where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} and ${isUnderWay}
          and not (${hasOpenPart} or ${isLiveAsWhole})`,
  );
}

/**
 * Schedules anew the channels that failed for one of these reasons, but for those that were disconnected. The others are
 * held until the transaction ends.
 *
 * @param only One of the channels; all of them when left out.
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
      update post_channels pc set ${waiting('scheduled')}, tries = 0
      where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} and pc.status = 'failed'
        and coalesce(pc.error_code, 'internal') = any(${reasons})
        and pc.channel_id = coalesce(${only}::uuid, pc.channel_id)
        and pc.channel_id in (select id from connected)
      returning pc.channel_id, pc.position`,
  );
  return rows.toSorted((a, b) => a.position - b.position).map((row) => row.channel_id);
}

/** Ends the doubt about an unconfirmed channel. @param now When a person said what became of it. */
export async function settleChannel(
  em: Em,
  workspaceId: string,
  postChannelId: string,
  outcome: Settled,
  now: Date,
): Promise<void> {
  await query(
    em,
    sql`update post_channels pc set ${settled(outcome, now)}
        where pc.id = ${postChannelId} and pc.workspace_id = ${workspaceId}`,
  );
}
