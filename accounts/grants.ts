import { sql } from 'kysely';
import type { Em } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { grantPurpose } from '../db/sealing-purposes.ts';
import type { Grant } from '../networks/oauth.ts';
import type { Sealer } from '../runtime/secrets.ts';

export type ChannelKey = { readonly workspaceId: string; readonly channelId: string };

/** Puts a new grant in the place of whatever a channel had. @param grant Null: it is opened by credentials of its own. */
export async function storeGrant(
  em: Em,
  sealer: Sealer,
  { workspaceId, channelId }: ChannelKey,
  grant: Grant | null,
): Promise<void> {
  if (grant === null) {
    await query(
      em,
      sql`delete from channel_grants where channel_id = ${channelId} and workspace_id = ${workspaceId}`,
    );
    return;
  }

  const { sealed, accessEndsAt, endsAt } = rowOf(sealer, channelId, grant);
  await query(
    em,
    sql`insert into channel_grants (channel_id, workspace_id, sealed_grant, access_ends_at, ends_at, created_at)
      values (${channelId}, ${workspaceId}, ${sealed}, ${accessEndsAt}, ${endsAt}, clock_timestamp())
      on conflict (channel_id) do update set sealed_grant = excluded.sealed_grant,
        access_ends_at = excluded.access_ends_at, ends_at = excluded.ends_at, warned_of = null,
        failing_since = null, refreshed_at = null, created_at = excluded.created_at`,
  );
}

/** A grant as its row keeps it. */
const rowOf = (sealer: Sealer, channelId: string, grant: Grant) => ({
  sealed: sealer.seal(JSON.stringify(grant), grantPurpose(channelId)),
  accessEndsAt: instantOf(grant.accessEndsAtMs),
  endsAt: instantOf(grant.endsAtMs),
});

const instantOf = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));
