import { ask } from '../../db/ask.ts';
import { credentialsPurpose, sessionPurpose } from '../../db/sealing-purposes.ts';
import type { Connection, Json } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishTarget } from './target.ts';

/** In milliseconds, over all requests of one try. Below the activity's startToCloseTimeout. */
const tryTimeoutMs = 4 * 60_000;

type Row = {
  base_url: string;
  remote_id: string;
  handle: string;
  settings: Json;
  sealed_credentials: string;
  sealed_session: string | null;
};

/** @throws Error when the channel is gone or its secrets were sealed under another key: an operator's matter. */
export async function openConnection(
  deps: ActivityDeps,
  { workspaceId, channelId }: PublishTarget,
): Promise<Connection> {
  const em = deps.orm.em.fork();
  const [channel] = await ask<Row>(
    em,
    `select base_url, remote_id, handle, settings, sealed_credentials, sealed_session
     from channels where id = $1 and workspace_id = $2`,
    [channelId, workspaceId],
  );
  if (!channel) {
    throw new Error(`There is no channel ${channelId}.`);
  }

  const open = (sealed: string, purpose: string): Json =>
    JSON.parse(deps.sealer.open(sealed, purpose));
  let session =
    channel.sealed_session === null
      ? null
      : open(channel.sealed_session, sessionPurpose(channelId));
  return {
    baseUrl: channel.base_url,
    remoteId: channel.remote_id,
    handle: channel.handle,
    settings: channel.settings,
    credentials: open(channel.sealed_credentials, credentialsPurpose(channelId)),
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
