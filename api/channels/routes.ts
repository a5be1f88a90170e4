import { reaches } from '../../domain/api-keys.ts';
import { AppError } from '../../domain/errors.ts';
import { listOf, record, type Value } from '../../domain/json-schema.ts';
import { channelAccessOf } from '../../domain/statuses.ts';
import { plainTexts } from '../../domain/texts.ts';
import { throttledCheck } from '../../services/channels/check-channel.ts';
import { disconnectChannel } from '../../services/channels/disconnect-channel.ts';
import { editChannel } from '../../services/channels/edit-channel.ts';
import { accountDeps, isAtSandbox } from '../../services/channels/oauth-context.ts';
import {
  findChannel,
  listChannels,
  type FoundChannel,
} from '../../services/channels/read-channels.ts';
import { reconnectChannel } from '../../services/channels/reconnect-channel.ts';
import type { ApiDeps } from '../deps.ts';
import { ok, routesWith, type Route } from '../http/route.ts';
import {
  channelAnswer,
  channelSchema,
  checkAnswer,
  disconnectedAnswer,
  editChannelSchema,
  reconnectAnswer,
  reconnectBody,
} from './schemas.ts';

const route = routesWith({ tag: 'Channels', scope: 'channels' });

const present = (
  deps: Pick<ApiDeps, 'networks' | 'sandboxUrl' | 'now'>,
  { channel, accessEndsAt }: FoundChannel,
): Value<typeof channelSchema> => {
  const { id, platform, handle, displayName, givenName, error, options, createdAt } = channel;
  const { state, expiresAt } = channelAccessOf(channel.state, accessEndsAt, deps.now());
  return {
    id,
    platform,
    handle,
    display_name: givenName ?? displayName,
    profile_url: deps.networks.profileUrls[platform]?.(channel) ?? null,
    server: URL.parse(channel.baseUrl)?.host ?? channel.baseUrl,
    sandbox: isAtSandbox(deps, channel.baseUrl),
    state,
    error,
    expires_at: expiresAt?.toISOString() ?? null,
    options: options ?? {},
    created_at: createdAt.toISOString(),
  };
};

export const channelRoutes: Route[] = [
  route.get('/channels', {
    operationId: 'listChannels',
    summary: 'The connected social accounts',
    description: 'Connected accounts, also those that need reconnecting.',
    answers: ok(
      'All channels of the workspace, oldest first.',
      record({ channels: listOf(channelSchema) }),
    ),
    handle: async ({ caller }, deps) => {
      const all = await listChannels(deps, caller.workspaceId);
      const found = all.filter(({ channel }) => reaches(caller, channel.id));
      return { status: 200, body: { channels: found.map((one) => present(deps, one)) } };
    },
  }),
  route.get('/channels/{id}', {
    operationId: 'getChannel',
    summary: 'A connected social account',
    description: '`state` and `error` say whether it can publish.',
    answers: ok('The channel.', channelAnswer),
    handle: async ({ caller: { workspaceId }, params: { id = '' } }, deps) => {
      const found = await findChannel(deps.orm.em.fork(), workspaceId, id);
      return { status: 200, body: { channel: present(deps, found) } };
    },
  }),
  route.patch('/channels/{id}', {
    operationId: 'editChannel',
    summary: 'Set the default options of a channel’s posts',
    description:
      'Each option of a post overrides the default of the same name. A post keeps the defaults from the time at which it was created or last edited.',
    body: editChannelSchema,
    bodyExamples: {
      options: { summary: 'Unlisted posts', value: { options: { visibility: 'unlisted' } } },
      none: { summary: 'No defaults', value: { options: null } },
    },
    answers: ok('The updated channel.', channelAnswer),
    errors: ['invalid_channel_options', 'invalid_media_ids'],
    handle: async ({ caller, params: { id = '' }, body }, deps) => {
      const edited = await editChannel(deps, caller, id, plainTexts(body));
      return { status: 200, body: { channel: present(deps, edited) } };
    },
  }),
  route.delete('/channels/{id}', {
    operationId: 'disconnectChannel',
    summary: 'Disconnect a social account',
    description:
      'Its secrets are erased, and nothing more is sent to it, except the requests that are under way (`still_sending`). Posts keep the channel. Those that are to be sent (`scheduled_posts`) fail there at their time with `disconnected`, or become `unconfirmed` if they may already be live. Connecting the account again brings the channel back under the same id, with its default options, and posts whose time comes later go out.',
    answers: ok('The account is disconnected.', disconnectedAnswer),
    handle: async ({ caller, params: { id = '' } }, deps) => {
      const change = { ...caller, channelId: id };
      return { status: 200, body: await disconnectChannel(deps, change) };
    },
  }),
  route.post('/channels/{id}/check', {
    operationId: 'checkChannel',
    summary: 'Check a channel’s access with its network',
    description:
      'One cheap call to the network, which creates nothing; X charges for it as for a read. A channel is checked at most once in five minutes. Within that time the call returns the last answer, and `checked_at` says when it was given. A channel that has lost its access becomes `needs_reconnect`, with its event. A `needs_reconnect` channel that works becomes `connected` again.',
    answers: ok('The network’s answer, and the channel’s current state.', checkAnswer),
    handle: async ({ caller: { workspaceId }, params: { id = '' } }, deps) => {
      const checks = { ...accountDeps(deps), checks: deps.networks.checks };
      const checked = await throttledCheck(checks, { workspaceId, channelId: id });
      const found = await findChannel(deps.orm.em.fork(), workspaceId, id);
      if (!checked) {
        throw new AppError('not_found', `There is no channel "${id}".`);
      }

      const reason = checked.access === 'connected' ? null : checked.reason;
      return {
        status: 200,
        body: {
          channel: present(deps, found),
          access: checked.access,
          reason,
          checked_at: checked.at,
        },
      };
    },
  }),
  route.post('/channels/{id}/reconnect', {
    operationId: 'reconnectChannel',
    summary: 'Connect a channel again, and retry the posts that failed because its access was lost',
    description:
      'Makes a link by which a person connects the account again (as `POST /channels/connect` with `channel_id` does). Names the posts that failed on the channel within the last 24 hours only because its access was lost. Once the account is connected again, `retry_posts` sends them again to this channel and to no other, the earliest first and 2 s apart, at most 100 in a call. A post that is still being sent to other channels is named last, and a later call sends it. `retry_posts` needs the scope `posts:publish` too.',
    body: reconnectBody,
    bodyExamples: {
      look: { summary: 'Which posts there are', value: {} },
      retry: { summary: 'Send them again', value: { retry_posts: true } },
    },
    answers: ok('The channel, and its posts.', reconnectAnswer),
    errors: ['plan_required', 'channel_not_connected'],
    handle: async (
      { caller, params: { id = '' }, body: { retry_posts: retries = false } },
      deps,
    ) => {
      const request = { channelId: id, retries };
      const { found, link, lost, toSync } = await reconnectChannel(deps, caller, request);
      toSync.forEach(deps.syncPost);
      const failed = { count: lost.count, post_ids: [...lost.postIds] };
      const channel = present(deps, found);
      const retrying = toSync.map(({ postId }) => postId);
      const [url, linkId] = [link?.link ?? null, link?.id ?? null];
      return {
        status: 200,
        body: { channel, link: url, link_id: linkId, failed_posts: failed, retrying },
      };
    },
  }),
];
