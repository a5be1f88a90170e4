import { sql } from 'kysely';
import type { LimitScope } from '../../domain/channel-error.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import type { ActivityDeps } from '../deps.ts';
import type { DueRow } from './claim-due.ts';

/** A claimed row, and when its figures are read next; null: never again. */
export type Moved = {
  readonly id: string;
  readonly workspaceId: string;
  readonly nextAt: Date | null;
};

/** Gives claimed rows another time, unless they have one already that is not the lease's end. */
export async function moveRows(em: Em, rows: readonly Moved[], lease: Date): Promise<void> {
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

/** Gives claimed rows one time. @param lease Theirs. */
export const moveTo = (
  { orm }: Pick<ActivityDeps, 'orm'>,
  rows: readonly DueRow[],
  lease: Date,
  nextAt: Date,
): Promise<void> =>
  moveRows(
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
 * Gives all that would be read before a time that time: of the channel, or of all channels on its server or its network.
 * It holds for reading alone. What another transaction is at is left to the next refresh.
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
