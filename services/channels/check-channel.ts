import { sql } from 'kysely';
import { query } from '../../db/query.ts';
import { credentialsPurpose, sessionPurpose } from '../../db/sealing-purposes.ts';
import type { Json } from '../../domain/json-schema.ts';
import type { CheckAccount } from '../../networks/network-entry.ts';
import { NetworkError } from '../../networks/network.ts';
import type { Networks } from '../../networks/registry.ts';
import { cleanName } from './connect-channel.ts';
import { currentGrant } from './current-grant.ts';
import {
  credentialsOf,
  endsSoon,
  openGrant,
  type ChannelKey,
  type CurrentGrant,
} from './grants.ts';
import { markAccessLost, markAccessRestored } from './mark-access.ts';
import type { AccountDeps } from './oauth-context.ts';

type CheckDeps = AccountDeps & { readonly checks: Networks['checks'] };

/**
 * - `connected`: the network accepted the credentials.
 * - `needs_reconnect`: it refused them.
 * - `unknown`: it gave no answer. The channel keeps its state.
 */
type Checked =
  | { readonly access: 'connected' }
  /** @param reason A sentence for the channel's owner. */
  | { readonly access: 'needs_reconnect' | 'unknown'; readonly reason: string };

/** In milliseconds. Each check counts against the network's rate limit, or costs the operator money. */
const minIntervalMs = 5 * 60_000;

/** @param at When the network was asked, in ISO 8601. */
type Answer = Checked & { readonly at: string };

/**
 * Runs `checkChannel` at most once in five minutes, also if it fails, and otherwise returns the last answer.
 *
 * @returns null when the channel does not exist.
 */
export async function throttledCheck(deps: CheckDeps, key: ChannelKey): Promise<Answer | null> {
  const now = deps.now();
  const own = sql`id = ${key.channelId} and workspace_id = ${key.workspaceId}`;
  const claimed = await query(
    deps.orm.em.fork(),
    sql`update channels set checked_at = ${now} where ${own} and disconnected_at is null
      and (checked_at is null or checked_at <= ${new Date(now.getTime() - minIntervalMs)}) returning id`,
  );
  if (claimed.length === 0) {
    return lastAnswer(deps, key);
  }

  const checked = await checkChannel(deps, key);
  const answer = checked && { ...checked, at: now.toISOString() };
  const stored = JSON.stringify(answer);
  await query(
    deps.orm.em.fork(),
    sql`update channels set check_answer = ${stored}::jsonb where ${own} and checked_at = ${now}`,
  );
  return answer;
}

type LastCheck = {
  readonly state: string;
  readonly error: string | null;
  readonly check_answer: Answer | null;
};

async function lastAnswer({ orm, now }: CheckDeps, key: ChannelKey): Promise<Answer | null> {
  const [row] = await query(
    orm.em.fork(),
    sql<LastCheck>`select state, error, check_answer from channels
      where id = ${key.channelId} and workspace_id = ${key.workspaceId} and disconnected_at is null`,
  );
  if (!row) {
    return null;
  }

  const at = row.check_answer?.at ?? now().toISOString();
  if (row.state === 'needs_reconnect') {
    // A post may have lost the access since the last check.
    return { access: 'needs_reconnect', reason: row.error ?? 'Connect the channel again.', at };
  }

  const reason = 'A check is running, or failed. Try again in five minutes.';
  return row.check_answer ?? { access: 'unknown', reason, at };
}

type Owner = Awaited<ReturnType<CheckAccount>>;

type Row = {
  readonly platform: string;
  readonly base_url: string;
  readonly remote_id: string;
  readonly settings: Json;
  readonly sealed_credentials: string;
  readonly sealed_session: string | null;
  readonly sealed_grant: string | null;
  readonly refreshed_at: Date | null;
};

/**
 * Checks a channel's access with one cheap call to the network and stores the result. A lost access emits
 * `channel.needs_reconnect`, as a failed post does; a channel in that state that works again becomes connected.
 *
 * @returns null when the channel does not exist.
 */
export async function checkChannel(deps: CheckDeps, key: ChannelKey): Promise<Checked | null> {
  const row = await loadChannel(deps, key);
  if (!row) {
    return null;
  }

  const { checked, displayName } = await checkWithNetwork(deps, key, row);
  return deps.orm.em.fork().transactional(async (em): Promise<Checked> => {
    if (checked.access === 'connected') {
      await markAccessRestored(em, deps, key, row.sealed_credentials);
      await query(
        em,
        sql`update channels set display_name = ${displayName} where id = ${key.channelId}
          and workspace_id = ${key.workspaceId} and sealed_credentials = ${row.sealed_credentials}
          and display_name is distinct from ${displayName}`,
      );
      return checked;
    }

    // The result is valid only for the credentials that were checked.
    const same = await query(
      em,
      sql`select id from channels where id = ${key.channelId} and workspace_id = ${key.workspaceId}
        and sealed_credentials = ${row.sealed_credentials} for no key update`,
    );
    if (same.length === 0) {
      return { access: 'unknown', reason: changedDuringCheck };
    }

    if (checked.access === 'needs_reconnect') {
      await markAccessLost(em, deps, key, checked.reason, 'outbox');
    }

    return checked;
  });
}

const changedDuringCheck = 'The account was connected again, or disconnected, during the check.';

async function loadChannel(deps: AccountDeps, key: ChannelKey): Promise<Row | undefined> {
  const [row] = await query(
    deps.orm.em.fork(),
    sql<Row>`select c.platform, c.base_url, c.remote_id, c.settings, c.sealed_credentials, c.sealed_session,
        g.sealed_grant, g.refreshed_at
      from channels c left join channel_grants g on g.channel_id = c.id and g.workspace_id = c.workspace_id
      where c.id = ${key.channelId} and c.workspace_id = ${key.workspaceId} and c.disconnected_at is null`,
  );
  return row;
}

/** @returns also the account's current name, when the network accepted the credentials. */
async function checkWithNetwork(
  deps: CheckDeps,
  key: ChannelKey,
  row: Row,
): Promise<{ readonly checked: Checked; readonly displayName: string | null }> {
  const unnamed = (checked: Checked) => ({ checked, displayName: null });
  try {
    const { remoteId, displayName } = await checkWithGrant(deps, key, row);
    const reason = 'The stored access belongs to a different account. Connect the channel again.';
    return remoteId === row.remote_id
      ? { checked: { access: 'connected' }, displayName: cleanName(displayName) }
      : unnamed({ access: 'needs_reconnect', reason });
  } catch (error) {
    if (!(error instanceof NetworkError)) {
      throw error;
    }

    return unnamed(
      error.code === 'access_lost'
        ? { access: 'needs_reconnect', reason: `${error.message} Connect the channel again.` }
        : { access: 'unknown', reason: error.message },
    );
  }
}

/**
 * @returns the account that the credentials open.
 * @throws NetworkError; `access_lost` only when no refresh is possible, or the refresh itself is refused.
 */
async function checkWithGrant(deps: CheckDeps, key: ChannelKey, row: Row): Promise<Owner> {
  const first = await openedGrant(deps, key, row);
  try {
    return await callCheck(deps, key, row, first);
  } catch (error) {
    const isRefused = error instanceof NetworkError && error.code === 'access_lost';
    if (!isRefused || first === null || first.grant.refreshToken === null) {
      throw error;
    }

    const next = await currentGrant(deps, channelOf(key, row), first.grant.accessToken);
    try {
      return await callCheck(deps, key, row, next);
    } catch (again) {
      throw again instanceof NetworkError && again.code === 'access_lost'
        ? new NetworkError('network_unavailable', again.message, { accepted: 'no', cause: again })
        : again;
    }
  }
}

const channelOf = (key: ChannelKey, row: Row) => ({
  ...key,
  platform: row.platform,
  baseUrl: row.base_url,
  remoteId: row.remote_id,
});

async function openedGrant(
  deps: CheckDeps,
  key: ChannelKey,
  row: Row,
): Promise<CurrentGrant | null> {
  if (row.sealed_grant === null) {
    return null;
  }

  const grant = openGrant(deps.sealer, key.channelId, row.sealed_grant);
  return endsSoon(grant, deps.now().getTime())
    ? currentGrant(deps, channelOf(key, row))
    : { grant, refreshedAt: row.refreshed_at };
}

async function callCheck(
  { checks, sealer, egress }: CheckDeps,
  { channelId }: ChannelKey,
  row: Row,
  current: CurrentGrant | null,
): Promise<Owner> {
  const check = checks[row.platform];
  if (!check) {
    throw new NetworkError('internal', `This service cannot check an account of ${row.platform}.`, {
      accepted: 'no',
    });
  }

  const open = (sealed: string, purpose: string): Json => JSON.parse(sealer.open(sealed, purpose));
  return check({
    http: egress,
    baseUrl: row.base_url,
    remoteId: row.remote_id,
    settings: row.settings,
    credentials: current
      ? credentialsOf(current.grant)
      : open(row.sealed_credentials, credentialsPurpose(channelId)),
    session:
      row.sealed_session === null ? null : open(row.sealed_session, sessionPurpose(channelId)),
  });
}
