import { connectChannel } from '../../cli/connect-channel.ts';
import type { ActivityDeps } from '../../activities/deps.ts';

/** Connects an account of a fake network. @returns the channel's id. */
export async function addFakeChannel(
  { orm, sealer }: Pick<ActivityDeps, 'orm' | 'sealer'>,
  workspaceId: string,
  platform = 'fake',
): Promise<string> {
  const { id } = await connectChannel(orm.em.fork(), sealer, workspaceId, platform, {
    baseUrl: 'https://fake.example',
    remoteId: 'me',
    handle: '@me',
    credentials: { token: 'secret' },
    session: null,
    settings: {},
  });
  return id;
}
