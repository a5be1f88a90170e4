import { Channel } from '../../db/entities/channel.ts';
import type { ApiDeps } from '../deps.ts';
import { route, type Route } from '../http/route.ts';
import { listOf, record } from '../../domain/json-schema.ts';
import { disconnectChannel } from '../../accounts/disconnect-channel.ts';
import { checkRoute } from './check-route.ts';
import { editChannel, loadChannel } from './edit-channel.ts';
import { reconnectCall } from './reconnect-route.ts';
import { presentChannel, presentChannels } from './present-channel.ts';
import { blueskyChannel, disconnected, mastodonChannel } from './examples.ts';
import { channelAnswer, channelSchema, disconnectedAnswer, editChannelSchema } from './schemas.ts';

export const channelRoutes = (deps: ApiDeps): Route[] => [
  listCall(deps),
  readCall(deps),
  editCall(deps),
  disconnectCall(deps),
  checkRoute(deps),
  reconnectCall(deps),
];

const listCall = (deps: ApiDeps): Route =>
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
      const em = deps.orm.em.fork();
      const channels = await em.find(
        Channel,
        { workspaceId, disconnectedAt: null },
        { orderBy: { createdAt: 'asc', id: 'asc' } },
      );
      const shown = await presentChannels(deps, em, workspaceId, channels);
      return { status: 200, body: { channels: shown } };
    },
  });

const one = { mastodon: { summary: 'A channel', value: { channel: mastodonChannel } } };

const readCall = (deps: ApiDeps): Route =>
  route({
    method: 'get',
    path: '/channels/{id}',
    operationId: 'getChannel',
    tag: 'Channels',
    summary: 'A connected social account',
    answers: { 200: { description: 'The channel.', schema: channelAnswer, examples: one } },
    errors: ['not_found'],
    handle: async ({ caller: { workspaceId }, params: { id = '' } }) => {
      const em = deps.orm.em.fork();
      const channel = await loadChannel(em, workspaceId, id);
      return { status: 200, body: { channel: await presentChannel(deps, em, channel) } };
    },
  });

const editCall = (deps: ApiDeps): Route =>
  route({
    method: 'patch',
    path: '/channels/{id}',
    operationId: 'editChannel',
    tag: 'Channels',
    summary: 'Set the default options of a channel’s posts',
    description:
      'Each option of a post overrides the default of the same name. A post keeps the defaults from the time at which it was created or last edited.',
    body: editChannelSchema,
    bodyExamples: {
      options: { summary: 'Unlisted posts', value: { options: { visibility: 'unlisted' } } },
      none: { summary: 'No defaults', value: { options: null } },
    },
    answers: {
      200: { description: 'The updated channel.', schema: channelAnswer, examples: one },
    },
    errors: ['invalid_request', 'invalid_channel_options', 'invalid_media_ids', 'not_found'],
    handle: async ({ caller: { workspaceId }, params: { id = '' }, body }) => {
      const channel = await editChannel(deps, workspaceId, id, body);
      const shown = await presentChannel(deps, deps.orm.em.fork(), channel);
      return { status: 200, body: { channel: shown } };
    },
  });

const disconnectCall = (deps: ApiDeps): Route =>
  route({
    method: 'delete',
    path: '/channels/{id}',
    operationId: 'disconnectChannel',
    tag: 'Channels',
    summary: 'Disconnect a social account',
    description:
      'Its secrets are erased, and nothing more is sent to it, except the requests that are under way (`still_sending`). Scheduled posts and drafts lose the channel; a post without another channel becomes a draft. A post that is being published, or waits for a retry, fails there with `disconnected`, or is `unconfirmed` if it may already be live. Published posts keep the channel, and so do the analytics. Connecting the account again brings the channel back under the same id, without the posts that it lost.',
    answers: {
      200: {
        description: 'The account is disconnected.',
        schema: disconnectedAnswer,
        examples: {
          disconnected: {
            summary: 'One post had no other channel',
            value: { ...disconnected, still_sending: 0 },
          },
        },
      },
    },
    errors: ['not_found'],
    handle: async ({ caller: { workspaceId }, params: { id = '' } }) => ({
      status: 200,
      body: await disconnectChannel(deps, { workspaceId, channelId: id }),
    }),
  });
