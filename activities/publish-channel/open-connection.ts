import { credentialsPurpose, sessionPurpose } from '../../db/sealing-purposes.ts';
import type { Connection, Json } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import type { Intent } from './intent.ts';
import type { PublishTarget } from './target.ts';

/** In milliseconds, over all requests of one try. Below the activity's startToCloseTimeout. */
const tryTimeoutMs = 4 * 60_000;

/** @throws Error when the channel's secrets were sealed under another key: an operator's matter. */
export function openConnection(
  deps: ActivityDeps,
  target: PublishTarget,
  intent: Intent,
): Connection {
  const { workspaceId, channelId, baseUrl, account } = target;
  const open = (sealed: string, purpose: string): Json =>
    JSON.parse(deps.sealer.open(sealed, purpose));
  let session =
    account.sealedSession === null ? null : open(account.sealedSession, sessionPurpose(channelId));
  return {
    baseUrl,
    remoteId: account.remoteId,
    handle: account.handle,
    settings: account.settings,
    credentials: open(account.sealedCredentials, credentialsPurpose(channelId)),
    get session() {
      return session;
    },
    saveSession: async (fresh) => {
      session = fresh;
      const sealed = deps.sealer.seal(JSON.stringify(fresh), sessionPurpose(channelId));
      await deps.orm.em.fork().execute(
        // Unless the account was connected again meanwhile: that access has a session of its own.
        `update channels set sealed_session = ?
           where id = ? and workspace_id = ? and sealed_credentials = ?`,
        [sealed, channelId, workspaceId, account.sealedCredentials],
      );
    },
    http: deps.egress,
    signal: AbortSignal.timeout(tryTimeoutMs),
    mayCreate: intent.isYoung,
  };
}
