import { sql } from 'kysely';
import type { LimitScope } from '../../domain/channel-error.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import type { ActivityDeps } from '../deps.ts';
import type { DueRow } from './claim-due.ts';

/** A claimed row and the time of its next read; null for none. */
export type RescheduledRow = {
  readonly id: string;
  readonly workspaceId: string;
  readonly nextAt: Date | null;
};

/** Sets the next read of claimed rows, unless it was changed since the claim. */
export async function rescheduleRows(
  em: Em,
  rows: readonly RescheduledRow[],
  lease: Date,
): Promise<void> {
  if (rows.length > 0) {
    await query(
      em,
      sql`update post_channels pc set next_metrics_at = moved.next_at::timestamptz
        from unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map((row) => row.workspaceId)}::uuid[],
          ${rows.map(({ nextAt }) => nextAt?.toISOString() ?? null)}::text[]) as moved (id, workspace_id, next_at)
        where pc.id = moved.id and pc.workspace_id = moved.workspace_id and pc.next_metrics_at = ${lease}`,
    );
  }
}

/** Sets the same next read for all rows. @param lease End of the rows' lease. */
export const rescheduleTo = (
  { orm }: Pick<ActivityDeps, 'orm'>,
  rows: readonly DueRow[],
  lease: Date,
  nextAt: Date,
): Promise<void> =>
  rescheduleRows(
    orm.em.fork(),
    rows.map((row) => ({ ...row, nextAt })),
    lease,
  );

type Scope = {
  readonly workspaceId: string;
  readonly channelId: string;
  readonly platform: string;
  readonly baseUrl: string;
};

/**
 * Delays all earlier reads to `until`: those of the channel, of its server, or of its network. Affects reads only. Rows
 * locked by another transaction are left to the next refresh.
 */
export async function postponeAll(
  em: Em,
  { workspaceId, channelId, platform, baseUrl }: Scope,
  limit: LimitScope,
  until: Date,
): Promise<void> {
  const which = {
    channel: sql`c.id = ${channelId} and c.workspace_id = ${workspaceId}`,
    server: sql`c.platform = ${platform} and c.base_url = ${baseUrl}`,
    network: sql`c.platform = ${platform}`,
  }[limit];
  await query(
    em,
    sql`with early as materialized (
        select pc.id from post_channels pc
        join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
        where pc.next_metrics_at < ${until} and ${which} for update of pc skip locked)
      update post_channels pc set next_metrics_at = ${until} from early where pc.id = early.id`,
  );
}
