import { sql, type RawBuilder } from 'kysely';
import type { Em } from './orm.ts';
import { query } from './query.ts';

type Place = {
  readonly workspaceId: string;
  /** Null for a post that is not stored. */
  readonly postId: string | null;
};

/**
 * SQL: a warning if another post has or had the same text on the channel of row `c` (`channel_id`, `text_hash`,
 * `due_at`) within 24 hours. `due_at` is null for a draft, and in the row, since PostgreSQL would plan the statement
 * again at each call for a parameter.
 */
export const sameText = ({ workspaceId, postId }: Place): RawBuilder<unknown> => sql`
  select 'Post ' || pc.post_id || ' has the same text on this channel, at most 24 hours apart.'
    || case when pc.status = 'unconfirmed' then ' It is unconfirmed there, so the network may have it: settle it first.' else '' end as warning
  from post_channels pc
  where pc.workspace_id = ${workspaceId}::uuid and pc.channel_id = c.channel_id and pc.text_hash = c.text_hash
    and pc.text_due_at between c.due_at - interval '24 hours' and c.due_at + interval '24 hours'
    and pc.post_id is distinct from ${postId}::uuid
    and (pc.status in ('scheduled', 'publishing', 'retrying', 'published', 'unconfirmed') or pc.status = 'failed' and exists (
      select 1 from post_parts pp
      where pp.post_channel_id = pc.id and pp.workspace_id = pc.workspace_id and pp.state = 'sent'))
    and pc.gone_at is null
  order by pc.text_due_at limit 1`;

/** Finds the warnings of {@link sameText}, by channel id. */
export async function sameTextWarnings(
  em: Em,
  { dueAt, ...place }: Place & { readonly dueAt: Date | null },
  validations: readonly {
    readonly channel: { readonly id: string };
    readonly textHash: string | null;
  }[],
): Promise<ReadonlyMap<string, string>> {
  const channels = validations.map(({ channel, textHash }) => ({
    channel_id: channel.id,
    text_hash: textHash,
    due_at: dueAt,
  }));
  if (dueAt === null || channels.length === 0) {
    return new Map();
  }

  const rows = await query(
    em,
    sql<{ channel_id: string; warning: string }>`
      select c.channel_id, same.warning
      from jsonb_to_recordset(${JSON.stringify(channels)}::jsonb) as c(channel_id uuid, text_hash bigint, due_at timestamptz)
      cross join lateral (${sameText(place)}) same`,
  );
  return new Map(rows.map((row) => [row.channel_id, row.warning]));
}
