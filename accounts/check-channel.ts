import { sql } from 'kysely';
import { query } from '../db/query.ts';
import { credentialsPurpose, sessionPurpose } from '../db/sealing-purposes.ts';
import type { Json } from '../domain/json-schema.ts';
import type { CheckAccount } from '../networks/entry.ts';
import { NetworkError } from '../networks/network.ts';
import type { Networks } from '../networks/registry.ts';
import { currentGrant } from './current-grant.ts';
import type { AccountDeps } from './deps.ts';
import { credentialsOf, endsSoon, openGrant, type ChannelKey, type Current } from './grants.ts';
import { loseAccess, regainAccess } from './lose-access.ts';
import { plainName } from './plain-account.ts';

export type CheckDeps = AccountDeps & { readonly checks: Networks['checks'] };

/**
 * - `connected`: the network let us in.
 * - `needs_reconnect`: it does not any more.
 * - `unknown`: it did not say. The channel stays as it was.
 */
export type Checked =
  | { readonly access: 'connected' }
  /** @param reason For the channel's owner, as a sentence. */
  | { readonly access: 'needs_reconnect' | 'unknown'; readonly reason: string };

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
 * Asks the network, by a cheap call, whether a channel's account can still be entered, and writes down what it says: a
 * channel that lost its access is told of like one whose post met that, and one that was believed lost and works is
 * connected again.
 *
 * @returns null when there is no such channel.
 */
export async function checkChannel(deps: CheckDeps, key: ChannelKey): Promise<Checked | null> {
  const row = await load(deps, key);
  if (!row) {
    return null;
  }

  const { checked, displayName } = await ask(deps, key, row);
  return deps.orm.em.fork().transactional(async (em): Promise<Checked> => {
    if (checked.access === 'connected') {
      await regainAccess(em, deps, key, row.sealed_credentials);
      await query(
        em,
        sql`update channels set display_name = ${displayName} where id = ${key.channelId}
          and workspace_id = ${key.workspaceId} and sealed_credentials = ${row.sealed_credentials}
          and display_name is distinct from ${displayName}`,
      );
      return checked;
    }

    // Whatever was found holds for the access that was tried, and for no other.
    const same = await query(
      em,
      sql`select id from channels where id = ${key.channelId} and workspace_id = ${key.workspaceId}
        and sealed_credentials = ${row.sealed_credentials} for no key update`,
    );
    if (same.length === 0) {
      return { access: 'unknown', reason: meanwhile };
    }

    if (checked.access === 'needs_reconnect') {
      await loseAccess(em, deps, key, checked.reason, 'outbox');
    }

    return checked;
  });
}

const meanwhile = 'The account was connected again, or disconnected, during the check.';

async function load(deps: AccountDeps, key: ChannelKey): Promise<Row | undefined> {
  const [row] = await query(
    deps.orm.em.fork(),
    sql<Row>`select c.platform, c.base_url, c.remote_id, c.settings, c.sealed_credentials, c.sealed_session,
        g.sealed_grant, g.refreshed_at
      from channels c left join channel_grants g on g.channel_id = c.id and g.workspace_id = c.workspace_id
      where c.id = ${key.channelId} and c.workspace_id = ${key.workspaceId} and c.disconnected_at is null`,
  );
  return row;
}

/** @returns also the name that the account has by now, where the network let us in. */
async function ask(
  deps: CheckDeps,
  key: ChannelKey,
  row: Row,
): Promise<{ readonly checked: Checked; readonly displayName: string | null }> {
  const unnamed = (checked: Checked) => ({ checked, displayName: null });
  try {
    const { remoteId, displayName } = await enter(deps, key, row);
    const reason = 'What was handed out opens another account by now. Connect the channel again.';
    return remoteId === row.remote_id
      ? { checked: { access: 'connected' }, displayName: plainName(displayName) }
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
 * @returns the account that is open.
 * @throws NetworkError; `access_lost` only where nothing can be refreshed, or the refresh says so.
 */
async function enter(deps: CheckDeps, key: ChannelKey, row: Row): Promise<Owner> {
  const first = await openedGrant(deps, key, row);
  try {
    return await enterWith(deps, key, row, first);
  } catch (error) {
    const isRefused = error instanceof NetworkError && error.code === 'access_lost';
    if (!isRefused || first === null || first.grant.refreshToken === null) {
      throw error;
    }

    const next = await currentGrant(deps, channelOf(key, row), first.grant.accessToken);
    try {
      return await enterWith(deps, key, row, next);
    } catch (again) {
      throw again instanceof NetworkError && again.code === 'access_lost'
        ? new NetworkError('network_unavailable', again.message, { taken: 'no', cause: again })
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

async function openedGrant(deps: CheckDeps, key: ChannelKey, row: Row): Promise<Current | null> {
  if (row.sealed_grant === null) {
    return null;
  }

  const grant = openGrant(deps.sealer, key.channelId, row.sealed_grant);
  return endsSoon(grant, deps.now().getTime())
    ? currentGrant(deps, channelOf(key, row))
    : { grant, refreshedAt: row.refreshed_at };
}

async function enterWith(
  { checks, sealer, egress }: CheckDeps,
  { channelId }: ChannelKey,
  row: Row,
  current: Current | null,
): Promise<Owner> {
  const check = checks[row.platform];
  if (!check) {
    throw new NetworkError('internal', `This service cannot check an account of ${row.platform}.`, {
      taken: 'no',
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
