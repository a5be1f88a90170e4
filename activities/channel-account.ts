import { sql } from 'kysely';
import type { Em } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { credentialsPurpose, sessionPurpose } from '../db/sealing-purposes.ts';
import type { Json } from '../domain/json-schema.ts';
import { NetworkError, type Connection } from '../networks/network.ts';
import type { Grant } from '../networks/oauth/contract.ts';
import { currentGrant, currentGrantOr } from '../services/channels/current-grant.ts';
import { credentialsOf, openGrant, type CurrentGrant } from '../services/channels/grants.ts';
import { markAccessLost } from '../services/channels/mark-access.ts';
import type { GrantedChannel } from '../db/repositories/grants.ts';
import type { ActivityDeps } from './deps.ts';

export type ChannelAccount = GrantedChannel & {
  readonly handle: string;
  readonly settings: Json;
  readonly sealedCredentials: string;
  readonly sealedSession: string | null;
  readonly sealedGrant: string | null;
  readonly refreshedAt: Date | null;
};

/** SQL: a {@link ChannelAccount} of a channel `c` and its grant `g`. */
export const accountColumns = sql`c.workspace_id as "workspaceId", c.id as "channelId", c.platform,
  c.base_url as "baseUrl", c.remote_id as "remoteId", c.handle, c.settings, c.sealed_credentials as "sealedCredentials",
  c.sealed_session as "sealedSession", g.sealed_grant as "sealedGrant", g.refreshed_at as "refreshedAt"`;

/**
 * Whether the account was connected again after the attempt read its access, so that the network refused an old one.
 * Locks the row, so the result is still true when the caller marks the access lost.
 */
export async function isReconnected(
  em: Em,
  { workspaceId, channelId, sealedCredentials }: ChannelAccount,
): Promise<boolean> {
  const [channel] = await query(
    em,
    sql<{ is_reconnected: boolean }>`
      select sealed_credentials <> ${sealedCredentials} and disconnected_at is null as is_reconnected
      from channels
      where id = ${channelId} and workspace_id = ${workspaceId} for no key update`,
  );
  return channel?.is_reconnected ?? false;
}

/** For the account's owner. */
export const reconnectAdvice = (message: string): string => `${message} Connect the channel again.`;

export async function loseAccess(
  em: Em,
  deps: ActivityDeps,
  account: ChannelAccount,
  message: string,
): Promise<boolean> {
  if (await isReconnected(em, account)) {
    return false;
  }

  await markAccessLost(em, deps, account, reconnectAdvice(message));
  return true;
}

/**
 * Opens the channel's OAuth grant with an access token that lasts for the attempt; null for an account with stored
 * credentials.
 */
export async function openedGrant(
  deps: ActivityDeps,
  channel: ChannelAccount,
): Promise<CurrentGrant | null> {
  const { channelId, sealedGrant, refreshedAt } = channel;
  return sealedGrant === null
    ? null
    : currentGrantOr(deps, channel, {
        grant: openGrant(deps.sealer, channelId, sealedGrant),
        refreshedAt,
      });
}

type Means = Pick<Connection, 'uploadsOf' | 'saveUploads' | 'mayCreate' | 'signal'> & {
  readonly grant: Grant | null;
};

export function openConnection(
  deps: ActivityDeps,
  channel: ChannelAccount,
  { grant, ...means }: Means,
): Connection {
  const { workspaceId, channelId, sealedCredentials, sealedSession } = channel;
  const { baseUrl, remoteId, handle, settings } = channel;
  const open = (sealed: string, purpose: string): Json =>
    JSON.parse(deps.sealer.open(sealed, purpose));
  let session = sealedSession === null ? null : open(sealedSession, sessionPurpose(channelId));
  return {
    baseUrl,
    remoteId,
    handle,
    settings,
    credentials: grant
      ? credentialsOf(grant)
      : open(sealedCredentials, credentialsPurpose(channelId)),
    get session() {
      return session;
    },
    saveSession: async (fresh) => {
      session = fresh;
      const sealed = deps.sealer.seal(JSON.stringify(fresh), sessionPurpose(channelId));
      await query(
        deps.orm.em.fork(),
        // An account that was connected again has a session of its own: keep that one.
        sql`update channels set sealed_session = ${sealed}
          where id = ${channelId} and workspace_id = ${workspaceId}
            and sealed_credentials = ${sealedCredentials}`,
      );
    },
    workspaceId,
    now: deps.now,
    http: deps.egress,
    downloads: deps.downloads,
    stopping: deps.stopping,
    ...means,
  };
}

/** The network refused an unexpired access token, but a newer one exists. The next attempt uses it. */
export class NewTokenError extends Error {
  override readonly name = 'NewTokenError';
}

/** In milliseconds. When a token younger than this is refused, the fault is the network's. */
const youngMs = 10 * 60_000;

/**
 * Returns the error to handle after an attempt failed. A refused token alone does not prove that the access is lost: it
 * may have ended early, or the API may be faulty. If there is a refresh token, the network's token endpoint decides.
 *
 * @param used The grant that the attempt used; null for an account with stored credentials.
 */
export async function classifyTokenRefusal(
  deps: ActivityDeps,
  channel: ChannelAccount,
  used: CurrentGrant | null,
  error: unknown,
): Promise<unknown> {
  const isRefused = error instanceof NetworkError && error.code === 'access_lost';
  if (!isRefused || used === null || used.grant.refreshToken === null) {
    return error;
  }

  const { refreshedAt } = used;
  if (refreshedAt !== null && deps.now().getTime() - refreshedAt.getTime() < youngMs) {
    return new NetworkError(
      'network_unavailable',
      `${error.message} The network issued this access token less than 10 minutes ago.`,
      { accepted: error.accepted, server: 'answered', cause: error },
    );
  }

  await currentGrant(deps, channel, used.grant.accessToken);
  return new NewTokenError(error.message);
}
