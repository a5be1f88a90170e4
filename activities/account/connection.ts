import { sql } from 'kysely';
import { currentGrantOr } from '../../accounts/current-grant.ts';
import { credentialsOf, openGrant, type CurrentGrant } from '../../accounts/grants.ts';
import { query } from '../../db/query.ts';
import { credentialsPurpose, sessionPurpose } from '../../db/sealing-purposes.ts';
import type { Json } from '../../domain/json-schema.ts';
import type { Connection } from '../../networks/network.ts';
import type { Grant } from '../../networks/oauth/contract.ts';
import type { ActivityDeps } from '../deps.ts';
import { grantedChannel, type ChannelAccount } from './channel-account.ts';

/**
 * Opens the channel's OAuth grant with an access token that lasts for the attempt. Returns null for an account with
 * stored credentials.
 *
 * @throws NetworkError if no such token exists and the refresh failed.
 */
export async function openedGrant(
  deps: ActivityDeps,
  channel: ChannelAccount,
): Promise<CurrentGrant | null> {
  const { account, channelId } = channel;
  if (account.grant === null) {
    return null;
  }

  const { sealed, refreshedAt } = account.grant;
  const grant = openGrant(deps.sealer, channelId, sealed);
  return currentGrantOr(deps, grantedChannel(channel), { grant, refreshedAt });
}

type Means = Pick<Connection, 'uploadsOf' | 'saveUploads' | 'mayCreate'> & {
  readonly grant: Grant | null;
  /** Aborts all requests of the attempt. */
  readonly signal: AbortSignal;
};

/** @throws Error if the channel's secrets were sealed under another key; the operator has to fix the key. */
export function openConnection(
  deps: ActivityDeps,
  { workspaceId, channelId, baseUrl, account }: ChannelAccount,
  { grant, ...means }: Means,
): Connection {
  const open = (sealed: string, purpose: string): Json =>
    JSON.parse(deps.sealer.open(sealed, purpose));
  let session =
    account.sealedSession === null ? null : open(account.sealedSession, sessionPurpose(channelId));
  return {
    baseUrl,
    remoteId: account.remoteId,
    handle: account.handle,
    settings: account.settings,
    credentials: grant
      ? credentialsOf(grant)
      : open(account.sealedCredentials, credentialsPurpose(channelId)),
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
            and sealed_credentials = ${account.sealedCredentials}`,
      );
    },
    workspaceId,
    http: deps.egress,
    downloads: deps.downloads,
    ...means,
  };
}
