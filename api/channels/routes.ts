import { Channel } from '../../db/entities/channel.ts';
import type { ApiDeps } from '../deps.ts';
import { route, type Route } from '../http/route.ts';
import { listOf, record } from '../../domain/json-schema.ts';
import { blueskyChannel, mastodonChannel } from './examples.ts';
import { channelSchema } from './schemas.ts';

export const channelRoutes = ({ orm }: ApiDeps): Route[] => [
  route({
    method: 'get',
    path: '/channels',
    operationId: 'listChannels',
    tag: 'Channels',
    summary: 'The connected social accounts',
    answers: {
      200: {
        description: 'All channels of the workspace, oldest first.',
        schema: record({ channels: listOf(channelSchema) }),
        examples: {
          two: {
            summary: 'One is connected, one needs reconnecting',
            value: { channels: [mastodonChannel, blueskyChannel] },
          },
        },
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
  }),
];

const presentChannel = ({ id, platform, handle, state, error, createdAt }: Channel) => ({
  id,
  platform,
  handle,
  state,
  error,
  created_at: createdAt.toISOString(),
});
