import { Channel } from '../../db/entities/channel.ts';
import { credentialsPurpose, sessionPurpose } from '../../db/sealing-purposes.ts';
import type { Connection, Json } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishTarget } from './target.ts';

/** In milliseconds, over all requests of one try. Below the activity's startToCloseTimeout. */
const tryTimeoutMs = 4 * 60_000;

/** @throws Error when the channel is gone or its secrets were sealed under another key: an operator's matter. */
export async function openConnection(
  deps: ActivityDeps,
  { workspaceId, channelId }: PublishTarget,
): Promise<Connection> {
  const em = deps.orm.em.fork();
  const channel = await em.findOneOrFail(Channel, { id: channelId, workspaceId });
  const open = (sealed: string, purpose: string): Json =>
    JSON.parse(deps.sealer.open(sealed, purpose));
  let session =
    channel.sealedSession === null ? null : open(channel.sealedSession, sessionPurpose(channelId));
  return {
    baseUrl: channel.baseUrl,
    remoteId: channel.remoteId,
    handle: channel.handle,
    settings: channel.settings,
    credentials: open(channel.sealedCredentials, credentialsPurpose(channelId)),
    get session() {
      return session;
    },
    saveSession: async (fresh) => {
      session = fresh;
      const sealed = deps.sealer.seal(JSON.stringify(fresh), sessionPurpose(channelId));
      await em.execute('update channels set sealed_session = ? where id = ? and workspace_id = ?', [
        sealed,
        channelId,
        workspaceId,
      ]);
    },
    http: deps.egress,
    signal: AbortSignal.timeout(tryTimeoutMs),
  };
}
