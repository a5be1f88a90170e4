import { Channel, channelStates } from '../../db/entities/channel.ts';
import type { ApiDeps } from '../deps.ts';
import type { Route } from '../http/route.ts';
import { dateTime, nullable, record, text, uuid } from '../http/shared-schemas.ts';

const channelSchema = record({
  id: uuid,
  platform: { type: 'string', examples: ['mastodon', 'bluesky'] },
  handle: text,
  state: { type: 'string', enum: [...channelStates] },
  error: { ...nullable(text), description: 'Why the channel needs reconnecting.' },
  created_at: dateTime,
});

export const channelRoutes = ({ orm }: ApiDeps): Route[] => [
  {
    method: 'get',
    path: '/channels',
    summary: 'The connected social accounts',
    answers: {
      200: {
        description: 'All channels of the workspace, oldest first.',
        schema: record({ channels: { type: 'array', items: channelSchema } }),
      },
    },
    errors: [],
    handle: async ({ caller: { workspaceId } }) => {
      const em = orm.em.fork();
      const channels = await em.find(
        Channel,
        { workspaceId },
        { orderBy: { createdAt: 'asc', id: 'asc' } },
      );
      return { status: 200, body: { channels: channels.map(presentChannel) } };
    },
  },
];

const presentChannel = ({ id, platform, handle, state, error, createdAt }: Channel) => ({
  id,
  platform,
  handle,
  state,
  error,
  created_at: createdAt.toISOString(),
});
