import { sql, type RawBuilder } from 'kysely';
import type { Em } from '../orm.ts';
import { query, queryPlanned } from '../query.ts';
import type { LedgerOf } from './entries.ts';
import { openInSql, outInSql, type PartState } from './part-states.ts';

/** SQL: whether the ledger of the channel `pc` has such a part. @param which A condition on its row `pp`. */
const hasPart = (which: RawBuilder<boolean>): RawBuilder<boolean> =>
  sql`exists (select 1 from post_parts pp
    where pp.post_channel_id = pc.id and pp.workspace_id = pc.workspace_id and ${which})`;

/** SQL: whether the network may have a part of the channel `pc`, and nobody knows. */
export const hasOpenPart = hasPart(openInSql('pp'));

/** SQL: whether a part of the channel `pc` is live, or may be. */
export const hasOutPart = hasPart(outInSql('pp'));

/** SQL: whether a part of the channel `pc` is live, and none of its last run is still to be sent. */
export const isLiveAsWhole = sql<boolean>`${hasPart(sql`pp.state = 'sent'`)}
  and not ${hasPart(sql`pp.state in ('ready', 'refused') and pp.run = (
    select max(latest.run) from post_parts latest
    where latest.post_channel_id = pp.post_channel_id and latest.workspace_id = pp.workspace_id)`)}`;

/** SQL: the text that went out first on the channel `pc`, as the ledger knows it: the post may have been edited since. */
export const sentText = sql<string>`(select text from post_parts pp where pp.post_channel_id = pc.id
  and pp.workspace_id = pc.workspace_id and pp.part = 0 and pp.state = 'sent' order by pp.run desc limit 1)`;

/** SQL: how many parts of the channel `pc` are live, and where the first of them is; no row when none is. */
export const sentParts = sql`
  select json_build_object('parts', count(distinct pp.part), 'url', (array_agg(pp.url order by pp.part))[1])
  from post_parts pp
  where pp.post_channel_id = pc.id and pp.workspace_id = pc.workspace_id and pp.state = 'sent' having count(*) > 0`;

/** A part that is live, or may be. */
export type OutPart = {
  readonly channel_id: string;
  /** Counted from 0. */
  readonly part: number;
  readonly text: string;
  readonly url: string | null;
  /** Whether the network may have it, and nobody knows yet. */
  readonly is_open: boolean;
  /** How many parts its thread has. */
  readonly parts: number;
};

/** What is live of these channels of a post, or may be. @param postChannelIds Ids of rows of `post_channels`. */
export async function outParts(
  em: Em,
  workspaceId: string,
  postChannelIds: readonly string[],
): Promise<OutPart[]> {
  return postChannelIds.length === 0
    ? []
    : queryPlanned(
        em,
        sql<OutPart>`
          select pp.channel_id, pp.part, pp.text, pp.url, ${openInSql('pp')} as is_open,
            (select count(*)::int from post_parts thread where thread.post_channel_id = pp.post_channel_id
              and thread.workspace_id = pp.workspace_id and thread.run = pp.run) as parts
          from post_parts pp
          where pp.post_channel_id = any(${postChannelIds}) and pp.workspace_id = ${workspaceId} and ${outInSql('pp')}
          order by pp.part`,
      );
}

/** Removes what the ledger has of a channel that is taken off its post. None of its parts may be out. */
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

/** All that the ledger has of a post: of every channel and every run. */
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
