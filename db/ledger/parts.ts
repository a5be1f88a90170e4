import { sql, type RawBuilder } from 'kysely';

/** Identifies a ledger: the channel of a post. */
export type LedgerOf = { readonly workspaceId: string; readonly postChannelId: string };

// The conditions of `domain/live-parts.ts` in SQL, for a row of `post_parts` under any alias.

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

/** SQL: the first text that is or may be live on the channel `pc`: the post may have been edited since. */
export const sentText = sql<string>`(select text from post_parts pp where pp.post_channel_id = pc.id
  and pp.workspace_id = pc.workspace_id and pp.part = 0 and ${mayBeLiveInSql('pp')} order by pp.run desc limit 1)`;

/** SQL: number of live parts of the channel `pc` and the URL of the first; no row if there are none. */
export const sentPartsSummary = sql`
  select json_build_object('parts', count(distinct pp.part), 'url', (array_agg(pp.url order by pp.part))[1])
  from post_parts pp
  where pp.post_channel_id = pc.id and pp.workspace_id = pc.workspace_id and pp.state = 'sent' having count(*) > 0`;
