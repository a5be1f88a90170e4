import { sql, type RawBuilder } from 'kysely';
import type { PartState } from '../entities/post-channels.ts';
import type { Em } from '../orm.ts';
import { query, queryPlanned } from '../query.ts';

/** Identifies a ledger: the channel of a post. */
export type LedgerOf = { readonly workspaceId: string; readonly postChannelId: string };

/** Whether the outcome is unknown: the network may have the part. */
export const isOpen = ({ state }: { readonly state: string }): boolean =>
  state === 'sending' || state === 'doubted';

export const isSent = ({ state }: { readonly state: string }): boolean => state === 'sent';

/** Whether the network has or may have the part, so that no other run sends it. */
export const mayBeLive = (part: { readonly state: string }): boolean =>
  isSent(part) || isOpen(part);

// The same conditions in SQL, for a row of `post_parts` under any alias.

export const openInSql = (alias: string): RawBuilder<boolean> =>
  sql`${sql.ref(`${alias}.state`)} in ('sending', 'doubted')`;

export const mayBeLiveInSql = (alias: string): RawBuilder<boolean> =>
  sql`${sql.ref(`${alias}.state`)} in ('sent', 'sending', 'doubted')`;

/** SQL: whether the ledger of the channel `pc` has such a part. @param which Condition on its row `pp`. */
const hasPart = (which: RawBuilder<boolean>): RawBuilder<boolean> =>
  sql`exists (select 1 from post_parts pp
    where pp.post_channel_id = pc.id and pp.workspace_id = pc.workspace_id and ${which})`;

/** SQL: whether a part of the channel `pc` is open. */
export const hasOpenPart = hasPart(openInSql('pp'));

/** SQL: whether a part of the channel `pc` is or may be live. */
export const hasPossiblyLivePart = hasPart(mayBeLiveInSql('pp'));

/** SQL: whether a part of the channel `pc` is live. */
export const hasSentPart = hasPart(sql`pp.state = 'sent'`);

/** SQL: whether the post, or a part of it, is live on the channel `pc`. A settled post may have no ledger. */
export const isLiveChannel = sql<boolean>`(pc.status = 'published' or ${hasSentPart})`;

/** SQL: whether a part of the channel `pc` is live, and none of its last run is unsent. */
export const isWholeThreadLive = sql<boolean>`${hasSentPart}
  and not ${hasPart(sql`pp.state in ('ready', 'refused') and pp.run = (
    select max(latest.run) from post_parts latest
    where latest.post_channel_id = pp.post_channel_id and latest.workspace_id = pp.workspace_id)`)}`;

/** SQL: a sentence with the URLs of the live parts of the channel `pc`; null if there are none. */
export const livePartsText = sql<string>`(
  select 'Live parts of the thread: ' || string_agg(distinct pp.url, ' ') || '.' from post_parts pp
  where pp.post_channel_id = pc.id and pp.workspace_id = pc.workspace_id and pp.state = 'sent')`;

/** SQL: the first text published on the channel `pc`, from the ledger, because the post may have been edited since. */
export const sentText = sql<string>`(select text from post_parts pp where pp.post_channel_id = pc.id
  and pp.workspace_id = pc.workspace_id and pp.part = 0 and pp.state = 'sent' order by pp.run desc limit 1)`;

/** SQL: number of live parts of the channel `pc` and the URL of the first; no row if there are none. */
export const sentPartsSummary = sql`
  select json_build_object('parts', count(distinct pp.part), 'url', (array_agg(pp.url order by pp.part))[1])
  from post_parts pp
  where pp.post_channel_id = pc.id and pp.workspace_id = pc.workspace_id and pp.state = 'sent' having count(*) > 0`;

/** A part that is or may be live. */
export type PossiblyLivePart = {
  readonly channel_id: string;
  /** Counted from 0. */
  readonly part: number;
  readonly text: string;
  readonly url: string | null;
  /** The part is open: the network may have it. */
  readonly is_open: boolean;
  /** Number of parts of its thread. */
  readonly parts: number;
};

/**
 * Reads the parts of these channels of a post that are or may be live. @param postChannelIds Ids of rows of
 * `post_channels`.
 */
export async function possiblyLiveParts(
  em: Em,
  workspaceId: string,
  postChannelIds: readonly string[],
): Promise<PossiblyLivePart[]> {
  return postChannelIds.length === 0
    ? []
    : queryPlanned(
        em,
        sql<PossiblyLivePart>`
          select pp.channel_id, pp.part, pp.text, pp.url, ${openInSql('pp')} as is_open,
            (select count(*)::int from post_parts thread where thread.post_channel_id = pp.post_channel_id
              and thread.workspace_id = pp.workspace_id and thread.run = pp.run) as parts
          from post_parts pp
          where pp.post_channel_id = any(${postChannelIds}) and pp.workspace_id = ${workspaceId} and ${mayBeLiveInSql('pp')}
          order by pp.part`,
      );
}

/** Deletes the ledger of a channel that is removed from its post. None of its parts may be live. */
export async function removeParts(em: Em, { workspaceId, postChannelId }: LedgerOf): Promise<void> {
  await query(
    em,
    sql`delete from post_parts where post_channel_id = ${postChannelId} and workspace_id = ${workspaceId}`,
  );
}

export type RecordedPart = {
  readonly post_channel_id: string;
  readonly part: number;
  readonly run: number;
  readonly state: PartState;
  readonly url: string | null;
  readonly sending_at: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
};

/** Reads all parts of a post, for every channel and run. */
export const partsOfPost = (
  em: Em,
  { workspaceId, postId }: { readonly workspaceId: string; readonly postId: string },
): Promise<RecordedPart[]> =>
  query(
    em,
    sql<RecordedPart>`
      select pp.post_channel_id, pp.part, pp.run, pp.state, pp.url, pp.sending_at, pp.created_at, pp.updated_at
      from post_parts pp
      join post_channels pc on pc.id = pp.post_channel_id and pc.workspace_id = pp.workspace_id
      where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} order by pp.run, pp.part`,
  );
