import { sql } from 'kysely';
import { query } from '../../db/query.ts';
import { recordEvent } from '../../db/record-event.ts';
import { warnBeforeMs } from '../../domain/statuses.ts';
import { NetworkError } from '../../networks/network.ts';
import { describeError } from '../../runtime/logger.ts';
import { currentGrant } from './current-grant.ts';
import { openGrant, type GrantedChannel } from './grants.ts';
import { markAccessLost } from './mark-access.ts';
import type { AccountDeps } from './oauth-context.ts';

/** Result of a sweep of grants. */
type SweptGrants = {
  readonly refreshed: number;
  readonly warned: number;
  readonly ended: number;
};

/** Limits per sweep, which runs every minute. */
const [mostWarned, mostRefreshed] = [200, 20];

/**
 * Keeps accounts connected, and warns owners before they have to reconnect:
 *
 * - A grant that ends within a week is refreshed once a day where possible, since some networks then extend it.
 * - A grant that was idle for a month is refreshed: networks end unused grants.
 * - A grant that still ends emits `channel.at_risk`, once until its end moves.
 * - An expired grant emits `channel.needs_reconnect`, before a post fails.
 * - An expired access token is refreshed when a post is due within a day, so that the owner learns of a revoked access
 *   before that post fails.
 */
export async function sweepGrants(deps: AccountDeps): Promise<SweptGrants> {
  const refreshed = await refreshSome(deps);
  let [warned, ended] = [0, 0];
  for (const channel of await ending(deps)) {
    const outcome = await warnOrEndAccess(deps, channel);
    warned += outcome === 'warned' ? 1 : 0;
    ended += outcome === 'ended' ? 1 : 0;
  }

  return { refreshed, warned, ended };
}

type Row = {
  readonly channel_id: string;
  readonly workspace_id: string;
  readonly platform: string;
  readonly base_url: string;
  readonly remote_id: string;
  readonly sealed_grant: string;
};

/** Grants of channels in the state `connected`. */
const connected = sql`channel_grants g
  join channels c on c.id = g.channel_id and c.workspace_id = g.workspace_id
    and c.state = 'connected' and c.disconnected_at is null`;

/** A grant without a refresh token ends with its access token. */
const canBeRefreshed = sql`g.ends_at is distinct from g.access_ends_at`;

const columns = sql`g.channel_id, g.workspace_id, c.platform, c.base_url, c.remote_id, g.sealed_grant`;

/** In random order, so that unresponsive networks do not delay the others. */
async function refreshSome(deps: AccountDeps): Promise<number> {
  const now = deps.now();
  const rows = await query(
    deps.orm.em.fork(),
    sql<Row>`select ${columns} from ${connected}
      where coalesce(g.refreshed_at, g.created_at) < ${new Date(now.getTime() - dayMs)} and (
        g.ends_at <= ${new Date(now.getTime() + warnBeforeMs)} and ${canBeRefreshed}
        or coalesce(g.refreshed_at, g.created_at) < ${new Date(now.getTime() - idleMs)} and ${canBeRefreshed}
        or g.access_ends_at <= ${now} and exists (
          select 1 from post_channels pc join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
          where pc.channel_id = g.channel_id and pc.workspace_id = g.workspace_id and pc.status = 'scheduled'
            and p.status = 'scheduled' and p.scheduled_at <= ${new Date(now.getTime() + dayMs)}))
      order by random() limit ${sql.lit(mostRefreshed)}`,
  );
  const endMs = performance.now() + longestMs;
  let refreshed = 0;
  for (const row of rows) {
    if (performance.now() < endMs) {
      refreshed += (await refresh(deps, row)) ? 1 : 0;
    }
  }

  return refreshed;
}

/** A sweep begins no refresh after this time, in milliseconds. One refresh may take 45 s when a network hangs. */
const longestMs = 15_000;

const dayMs = 24 * 3_600_000;

/** Bluesky ends an unused grant after three months, Google after six. */
const idleMs = 30 * dayMs;

async function refresh(deps: AccountDeps, row: Row): Promise<boolean> {
  const channel = channelOf(row);
  try {
    const grant = openGrant(deps.sealer, row.channel_id, row.sealed_grant);
    if (grant.refreshToken === null) {
      return false;
    }

    await currentGrant(deps, channel, grant.accessToken);
    return true;
  } catch (error) {
    if (error instanceof NetworkError && error.code === 'access_lost') {
      await endAccess(deps, channel, error.message);
    } else {
      const { channel_id: channelId, platform } = row;
      deps.log.info({ channelId, platform, error: describeError(error) }, 'grant not refreshed');
    }

    return false;
  }
}

/** Does nothing when the account was reconnected meanwhile: that grant can be refreshed. */
const endAccess = (deps: AccountDeps, channel: GrantedChannel, message: string): Promise<unknown> =>
  deps.orm.em.fork().transactional(async (em) => {
    // The lock order of a connection.
    await query(
      em,
      sql`select id from channels where id = ${channel.channelId} and workspace_id = ${channel.workspaceId}
        for no key update`,
    );
    const [row] = await query(
      em,
      sql<{ sealed_grant: string }>`select sealed_grant from channel_grants
        where channel_id = ${channel.channelId} and workspace_id = ${channel.workspaceId}`,
    );
    if (row && openGrant(deps.sealer, channel.channelId, row.sealed_grant).refreshToken === null) {
      await markAccessLost(em, deps, channel, `${message} Connect the channel again.`, 'outbox');
    }
  });

const ending = async (deps: AccountDeps): Promise<GrantedChannel[]> => {
  const now = deps.now();
  const rows = await query(
    deps.orm.em.fork(),
    sql<Row>`select ${columns} from ${connected}
      where g.ends_at <= ${new Date(now.getTime() + warnBeforeMs)}
        and (g.ends_at <= ${now} or g.warned_of is null)
      order by g.ends_at limit ${sql.lit(mostWarned)}`,
  );
  return rows.map(channelOf);
};

const channelOf = (row: Row): GrantedChannel => ({
  channelId: row.channel_id,
  workspaceId: row.workspace_id,
  platform: row.platform,
  baseUrl: row.base_url,
  remoteId: row.remote_id,
});

/** Skips a grant that is being refreshed, since its end may move. The next sweep checks it again. */
const warnOrEndAccess = (
  deps: AccountDeps,
  { channelId, workspaceId }: GrantedChannel,
): Promise<'warned' | 'ended' | null> =>
  deps.orm.em.fork().transactional(async (em) => {
    const now = deps.now();
    const [found] = await query(
      em,
      sql<{ platform: string; handle: string; ends_at: Date }>`
        select c.platform, c.handle, g.ends_at from ${connected}
        where g.channel_id = ${channelId} and g.workspace_id = ${workspaceId}
          and (g.ends_at <= ${now} or g.warned_of is null)
          and (g.refreshing_until is null or g.refreshing_until <= clock_timestamp())
        for no key update of c, g skip locked`,
    );
    if (!found) {
      return null;
    }

    const { platform, handle, ends_at: endsAt } = found;
    if (endsAt <= now) {
      const message = `The access that the account gave has ended, at ${endsAt.toISOString()}. Connect the channel again.`;
      await markAccessLost(em, deps, { channelId, workspaceId }, message, 'outbox');
      return 'ended';
    }

    await query(
      em,
      sql`update channel_grants set warned_of = ends_at
        where channel_id = ${channelId} and workspace_id = ${workspaceId}`,
    );
    await recordEvent(em, {
      workspaceId,
      channelId,
      type: 'channel.at_risk',
      data: {
        channel: { id: channelId, platform, handle, expires_at: endsAt.toISOString() },
      },
      byOutbox: true,
    });
    return 'warned';
  });
