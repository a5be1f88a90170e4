import { knownId, listOf, oneOf, text } from '../../domain/json-schema.ts';
import { endedOutcomes, postStatuses } from '../../domain/statuses.ts';
import { platforms } from '../../networks/registry.ts';
import { cursorQuery } from '../../services/cursor.ts';
import { cancelPost } from '../../services/posts/cancel-post.ts';
import { inclusions, listOrders, listPosts } from '../../services/posts/list-posts.ts';
import { assertKnownFilter, showPost } from '../../services/posts/read-posts.ts';
import { retryPost } from '../../services/posts/retry-post.ts';
import { postTimes } from '../../db/post-search.ts';
import { settlePost } from '../../services/posts/settle-post.ts';
import { unpublishPost } from '../../services/posts/unpublish-post.ts';
import { accepted, ok, type Route, routesWith } from '../http/route.ts';
import { ids } from '../openapi/example-of.ts';
import {
  cancelledPost,
  postAnswer,
  postListSchema,
  retriedPost,
  settleSchema,
  unpublishSchema,
} from './schemas.ts';
import { copyRoute, createRoute, deleteRoute, editRoute, validateRoute } from './write-routes.ts';

const route = routesWith({ tag: 'Posts' });

/** Maximum posts per page, and with `include`. */
const mostListed = 100;
const mostWhole = 50;

const word = { ...text, minLength: 1, maxLength: 255 };

const listQuery = {
  status: {
    description: 'Only posts with this status, or with one of these: repeat the parameter.',
    schema: { ...listOf(oneOf(postStatuses)), maxItems: postStatuses.length },
  },
  outcome: {
    description: 'Only posts that ended like this.',
    schema: oneOf(endedOutcomes),
  },
  channel_id: {
    description: 'Only posts on this channel. One that is not yours is a 404.',
    schema: knownId,
  },
  platform: {
    description: 'Only posts on a channel of this network.',
    schema: oneOf(platforms),
  },
  tag: { description: 'Only posts with this tag, as it was sent.', schema: word },
  external_id: { description: 'Only the post with this `external_id`.', schema: word },
  q: {
    description:
      'Only posts with all these words in their texts, in any case and order. Everything but letters and digits separates words; Chinese, Japanese and Korean are found by any part of a text, and Thai, Lao, Khmer and Burmese only by whole phrases. The first 50,000 characters of a post are searched.',
    schema: { ...text, minLength: 1, maxLength: 500 },
  },
  from: {
    description: 'Only posts whose `date_field` is at this time or later: RFC 3339.',
    schema: text,
  },
  to: { description: 'Only posts whose `date_field` is before this time.', schema: text },
  date_field: {
    description:
      'The time that `from` and `to` compare: `scheduled_at` if left out, which drafts do not have.',
    schema: { ...oneOf(postTimes), default: 'scheduled_at' },
  },
  sort: {
    description:
      'The time that orders the posts; those without it are left out. By default the `date_field` with `from` or `to`, otherwise `created_at`.',
    schema: oneOf(postTimes),
  },
  order: {
    description: '`desc`: the latest first.',
    schema: { ...oneOf(listOrders), default: 'desc' },
  },
  include: {
    description:
      'Adds fields of `GET /posts/{id}`: `channels` (with `summary`), `media` (with `channel_media` and `thread_media`), and with either `updated_at`, `timezone`, `metadata`, `video`, `warning` and `warnings`. Both: `include=channels,media`. Longer texts of channels are cut to 3,000 characters, and to 20,000 for a post.',
    schema: { ...listOf(oneOf(inclusions)), maxItems: inclusions.length },
  },
  limit: {
    description: `The maximum number of posts; with \`include\`, a page has at most ${mostWhole}, and ends after 5 MB.`,
    schema: { type: 'integer', minimum: 1, maximum: mostListed, default: mostListed },
  },
  cursor: {
    ...cursorQuery,
    description: `${cursorQuery.description} Send the same filters and order with it.`,
  },
} as const;

export const postRoutes: Route[] = [
  route.get('/posts', {
    operationId: 'listPosts',
    scope: 'posts:read',
    summary: 'The posts, newest first',
    description:
      'All filters have to hold. Long texts are cut; `GET /posts/{id}` has all of a post. A list by `scheduled_at` or `published_at` has only posts with that time.',
    query: listQuery,
    answers: ok(`A page of up to ${mostListed} posts.`, postListSchema),
    errors: ['not_found'],
    handle: async ({ caller, query }, deps) => {
      await assertKnownFilter(deps.orm.em.fork(), caller, { channelId: query.channel_id });
      const most = query.include ? mostWhole : mostListed;
      const { limit = most } = query;
      const page = { ...query, limit: Math.min(limit, most), channelIds: caller.channelIds };
      const { posts, nextCursor } = await listPosts(deps, caller.workspaceId, page);
      return { status: 200, body: { posts, next_cursor: nextCursor } };
    },
  }),
  createRoute,
  validateRoute,
  route.get('/posts/{id}', {
    operationId: 'getPost',
    scope: 'posts:read',
    summary: 'A post, with its outcome on each channel',
    description: '`channels` has the status, the URL and the error of each channel.',
    answers: ok('The post.', postAnswer),
    handle: async ({ caller, params: { id = '' } }, deps) => ({
      status: 200,
      body: { post: await showPost(deps, caller, id) },
    }),
  }),
  editRoute,
  deleteRoute,
  copyRoute,
  route.post('/posts/{id}/cancel', {
    operationId: 'cancelPost',
    scope: 'posts:write',
    summary: 'Stop a scheduled or publishing post',
    description:
      'The post becomes a draft. Channels that are being sent finish and keep their result; nothing is sent after that. A channel whose post may be live is reconciled, and one with a part of a thread live fails with `cancelled`: a new time sends the rest.',
    answers: ok('The post is a draft.', cancelledPost),
    errors: ['post_not_cancellable'],
    handle: async ({ caller, params: { id = '' } }, deps) => {
      const { stillSending, toSync } = await cancelPost(deps, { ...caller, postId: id });
      deps.syncPost(toSync);
      const post = await showPost(deps, caller, id);
      return { status: 200, body: { ok: true, id, still_sending: stillSending, post } };
    },
  }),
  route.post('/posts/{id}/retry', {
    operationId: 'retryPost',
    scope: 'posts:publish',
    summary: 'Send a post again to the channels that failed',
    description:
      'Published channels are not sent again, nor are unconfirmed ones, whose post may be live. The new outcome is a new event.',
    answers: accepted('The failed channels are being sent again.', retriedPost),
    errors: ['plan_required', 'nothing_to_retry'],
    handle: async ({ caller, params: { id = '' } }, deps) => {
      const { retrying: channelIds, toSync } = await retryPost(deps, caller, id);
      deps.syncPost(toSync);
      const post = await showPost(deps, caller, id);
      return { status: 202, body: { id, retrying: channelIds, post } };
    },
  }),
  route.post('/posts/{id}/settle', {
    operationId: 'settlePost',
    scope: 'posts:publish',
    summary: 'Record the outcome of an unconfirmed channel',
    description:
      'An unconfirmed channel may have the post, but the network cannot tell. Check the account, and send the URL of the post, on the account’s own server or network, or null if it is not there. The URL tells the id of the post, so that it can be unpublished (not a thread on Bluesky) and measured; of LinkedIn’s, those with `share` or `ugcPost` do. With a URL the channel becomes published, or failed if parts of a thread are missing. With null it becomes failed with `not_published`. A retry sends the missing parts. A network may take a minute to process a request, so `null` is refused with `settle_too_early` until then. The URL of another post of the channel, or of a part that is known to be live, is refused. A post that had ended gets a new final event; a cancelled post that is now live on every channel ends as published. Repeating the same call changes nothing. A call with another URL, or null, within a day corrects the settlement, unless the channel was sent again or unpublished since: the metrics of the wrong post go, and the post gets another final event.',
    body: settleSchema,
    bodyExamples: {
      live: {
        summary: 'The post is there',
        value: {
          channel_id: ids.channel,
          url: 'https://social.example/@ana/114090312345678901',
        },
      },
      absent: {
        summary: 'The post is not there',
        value: { channel_id: ids.channel, url: null },
      },
    },
    answers: ok('The updated post.', postAnswer),
    errors: ['invalid_channel_ids', 'nothing_to_settle', 'settle_too_early'],
    handle: async ({ caller, params: { id = '' }, body }, deps) => {
      const { channel_id: channelId, url } = body;
      await settlePost(deps, { ...caller, postId: id }, { channelId, url });
      return { status: 200, body: { post: await showPost(deps, caller, id) } };
    },
  }),
  route.post('/posts/{id}/unpublish', {
    operationId: 'unpublishPost',
    summary: 'Remove a post from its networks',
    scope: 'posts:publish',
    description:
      'Deletes what is live of the post, the newest part of a thread first, on networks with `can_unpublish` (`GET /networks`). `channels[].unpublish` shows the state of each channel. When all have ended, the event `post.unpublished` is sent. While a network is unavailable the removal is retried for up to a day. A published channel becomes `removed`; the status of the post still says what publishing led to, and `summary.removed` counts the removed channels. A channel that is `removed` is not sent again: copy the post. A thread that was live in part is sent whole at a new time of a cancelled post. Repeating the call changes nothing for channels that are `pending`, `removed` or `not_found`, and tries the others again. Refused while a channel is being published or is unconfirmed.',
    body: unpublishSchema,
    bodyExamples: {
      everywhere: { summary: 'From all of its channels', value: {} },
      onOne: { summary: 'From one of its channels', value: { channel_ids: [ids.channel] } },
    },
    isBodyOptional: true,
    answers: accepted('The post, which is being removed, or was removed before.', postAnswer),
    errors: ['invalid_channel_ids', 'nothing_to_unpublish'],
    handle: async ({ caller, params: { id = '' }, body }, deps) => {
      const toSync = await unpublishPost(deps, { ...caller, postId: id }, body.channel_ids);
      if (toSync) {
        deps.syncPost(toSync);
      }

      return { status: 202, body: { post: await showPost(deps, caller, id) } };
    },
  }),
];
