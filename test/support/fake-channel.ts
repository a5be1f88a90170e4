import { connectChannel } from '../../cli/connect-channel.ts';
import type { ActivityDeps } from '../../activities/deps.ts';

/** Connects an account of a fake network. @param account Which, when there are several. @returns the channel's id. */
export async function addFakeChannel(
  { orm, sealer }: Pick<ActivityDeps, 'orm' | 'sealer'>,
  workspaceId: string,
  platform = 'fake',
  account: { readonly baseUrl?: string; readonly remoteId?: string } = {},
): Promise<string> {
  const { id } = await connectChannel(orm.em.fork(), sealer, workspaceId, platform, {
    baseUrl: 'https://fake.example',
    remoteId: 'me',
    handle: '@me',
    credentials: { token: 'secret' },
    session: null,
    settings: {},
    ...account,
  });
  return id;
}
