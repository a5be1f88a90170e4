import {
  dateTime,
  knownId,
  listOf,
  nullable,
  oneOf,
  record,
  uuid,
} from '../../domain/json-schema.ts';
import { platforms } from '../../networks/registry.ts';
import { blueskyChannel, mastodonChannel } from '../channels/examples.ts';
import type { ApiDeps } from '../deps.ts';
import { route, type Route } from '../http/route.ts';
import { refreshPost, refreshStates } from './refresh.ts';

const postId = '0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d';

const refreshing = record({
  post_id: uuid,
  channels: {
    ...listOf(
      record({
        channel_id: uuid,
        platform: oneOf(platforms),
        refresh: {
          ...oneOf(refreshStates),
          description:
            '`queued`: its metrics are read now, unless a rate limit of the network applies. `not_yet`: they were read less than a minute ago, the network is read less often, a rate limit applies, or a read may be under way. `gone`: the post no longer exists on the network. `not_read`: its metrics cannot be read, because the channel needs reconnecting or the post was settled by hand.',
        },
        next_at: {
          ...nullable(dateTime),
          description: 'When its metrics are read next; null when they are not read.',
        },
      }),
    ),
    description: 'The channels that published it.',
  },
});

export const refreshCall = (deps: ApiDeps): Route =>
  route({
    method: 'post',
    path: '/analytics/refresh',
    operationId: 'refreshAnalytics',
    tag: 'Analytics',
    summary: "Read a post's metrics now",
    description:
      'Metrics are refreshed automatically. This call refreshes those of one post early, within the limits of its networks. The answer does not wait for them: `metrics_updated_at` says when they were read. Networks that charge for reads are read at most as often as the operator has set.',
    body: record({ post_id: knownId }),
    bodyExamples: { one: { summary: 'A published post', value: { post_id: postId } } },
    answers: {
      202: {
        description: 'The refresh state of each of its published channels.',
        schema: refreshing,
        examples: {
          queued: {
            summary: 'One is queued, the other was just read',
            value: {
              post_id: postId,
              channels: [
                {
                  channel_id: mastodonChannel.id,
                  platform: mastodonChannel.platform,
                  refresh: 'queued',
                  next_at: '2027-03-16T08:30:00.000Z',
                },
                {
                  channel_id: blueskyChannel.id,
                  platform: blueskyChannel.platform,
                  refresh: 'not_yet',
                  next_at: '2027-03-16T08:44:41.330Z',
                },
              ],
            },
          },
        },
      },
    },
    errors: ['invalid_request', 'not_found'],
    handle: async ({ caller: { workspaceId }, body }) => {
      const channels = await refreshPost(deps, workspaceId, body.post_id);
      return { status: 202, body: { post_id: body.post_id, channels } };
    },
  });
