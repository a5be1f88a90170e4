import { fields, listOf, text } from '../../domain/json-schema.ts';
import type { ChannelResult, PostView, Unpublish } from '../../domain/post-view.ts';
import { showPost } from '../../services/posts/read-posts.ts';
import { unpublishPost } from '../../services/posts/unpublish-post.ts';
import { mastodonChannel } from '../channels/examples.ts';
import type { ApiDeps } from '../deps.ts';
import { route, type Examples, type Route } from '../http/route.ts';
import { publishedPost } from './examples.ts';
import { postAnswer } from './schemas.ts';

const unpublishSchema = fields({
  channel_ids: {
    ...listOf({ ...text, maxLength: 100 }),
    minItems: 1,
    maxItems: 100,
    description: 'The channels to remove the post from. Absent: all of its channels.',
  },
});

const [first, ...others] = publishedPost.channels;
const requested = {
  requested_at: '2027-03-04T12:30:00.000Z',
  error: null,
  error_code: null,
} as const;
const withFirst = (unpublish: Unpublish): PostView['channels'] => [
  {
    ...(first as ChannelResult),
    status: unpublish.status === 'removed' ? 'removed' : 'published',
    unpublish,
  },
  ...others,
];

/** Removed from one of its channels. */
export const unpublishedPost: PostView = {
  ...publishedPost,
  updated_at: '2027-03-04T12:30:01.377Z',
  channels: withFirst({ status: 'removed', ...requested }),
  summary: { ...publishedPost.summary, removed: 1 },
};

const unpublishings: Examples = {
  everywhere: { summary: 'From all of its channels', value: {} },
  onOne: {
    summary: 'From one of its channels',
    value: { channel_ids: [mastodonChannel.id] },
  },
};

const unpublishing = {
  summary: 'It is being removed from one of its channels',
  value: {
    post: { ...publishedPost, channels: withFirst({ status: 'pending', ...requested }) },
  },
};

export const unpublishCall = (deps: ApiDeps): Route =>
  route({
    method: 'post',
    path: '/posts/{id}/unpublish',
    operationId: 'unpublishPost',
    tag: 'Posts',
    summary: 'Remove a post from its networks',
    scope: 'posts:publish',
    description:
      'Deletes what is live of the post, the newest part of a thread first, on networks with `can_unpublish` (`GET /networks`). `channels[].unpublish` shows the state of each channel. When all have ended, the event `post.unpublished` is sent. While a network is unavailable the removal is retried for up to a day. A published channel becomes `removed`; the status of the post still says what publishing led to, and `summary.removed` counts the removed channels. A channel that was removed is not sent again by a retry; a new time of a cancelled post sends it whole. Repeating the call changes nothing for channels that are `pending`, `removed` or `not_found`, and tries the others again. Refused while a channel is being published or is unconfirmed.',
    body: unpublishSchema,
    bodyExamples: unpublishings,
    isBodyOptional: true,
    answers: {
      202: {
        description: 'The post, which is being removed, or was removed before.',
        schema: postAnswer,
        examples: { unpublishing },
      },
    },
    errors: ['invalid_request', 'invalid_channel_ids', 'not_found', 'nothing_to_unpublish'],
    handle: async ({ caller, params: { id = '' }, body }) => {
      const toSync = await unpublishPost(deps, { ...caller, postId: id }, body.channel_ids);
      if (toSync) {
        deps.syncPost(toSync);
      }

      return { status: 202, body: { post: await showPost(deps, caller, id) } };
    },
  });
