import { connectChannel } from '../../cli/connect-channel.ts';
import type { Platform } from '../../domain/platform.ts';
import type { Json } from '../../networks/network.ts';
import type { Punctual } from '../support/punctual.ts';

export type StoredChannel = {
  readonly platform?: Platform;
  readonly handle?: string;
  readonly settings?: Json;
};

/** What the database has of the channel's secrets, sealed; no answer may ever hold it. */
export const channelToken = 'token-of-the-channel';

/** Stores a connected channel as `npm run admin` does, of an account that no server has. @returns its id. */
export async function storeChannel(
  { orm, deps }: Punctual,
  workspaceId: string,
  { platform = 'mastodon', handle = '@ana@social.test', settings = {} }: StoredChannel = {},
): Promise<string> {
  const account = {
    baseUrl: 'https://social.test',
    remoteId: crypto.randomUUID(),
    handle,
    credentials: { accessToken: channelToken },
    session: null,
    settings,
  };
  const { id } = await connectChannel(orm.em.fork(), deps.sealer, workspaceId, platform, account);
  return id;
}
