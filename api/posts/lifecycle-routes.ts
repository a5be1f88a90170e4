import { count, listOf, record, uuid } from '../../domain/json-schema.ts';
import type { ApiDeps } from '../deps.ts';
import { route, type Route } from '../http/route.ts';
import { cancelPost } from './cancel-post.ts';
import { cancelled, retrying, settled, settledAbsent, settlements } from './examples.ts';
import { showPost } from './read-posts.ts';
import { retryPost } from './retry-post.ts';
import { postAnswer, settleSchema } from './schemas.ts';
import { settlePost } from './settle-post.ts';

export const cancelCall = (deps: ApiDeps): Route =>
  route({
    method: 'post',
    path: '/posts/{id}/cancel',
    operationId: 'cancelPost',
    tag: 'Posts',
    summary: 'Stop a scheduled or publishing post',
    description:
      'The post becomes a draft. Channels that are being sent finish and keep their result; so do channels whose post may be live, which are reconciled, and threads with a live part. For a channel that has not ended, `url` and `warning` say which parts are live.',
    answers: {
      200: {
        description: 'The post is a draft.',
        schema: record({
          ok: { type: 'boolean', const: true },
          id: uuid,
          still_sending: {
            ...count,
            description: 'How many channels are being sent or reconciled, and will finish.',
          },
        }),
        examples: { cancelled },
      },
    },
    errors: ['not_found', 'post_not_cancellable'],
    handle: async ({ caller: { workspaceId }, params: { id = '' } }) => ({
      status: 200,
      body: { ok: true, id, still_sending: await cancelPost(deps, { workspaceId, postId: id }) },
    }),
  });

export const retryCall = (deps: ApiDeps): Route =>
  route({
    method: 'post',
    path: '/posts/{id}/retry',
    operationId: 'retryPost',
    tag: 'Posts',
    summary: 'Send a post again to the channels that failed',
    description:
      'Published channels are not sent again, nor are unconfirmed ones, whose post may be live. The new outcome is a new event.',
    answers: {
      202: {
        description: 'The failed channels are being sent again.',
        schema: record({
          id: uuid,
          retrying: { ...listOf(uuid), description: 'Ids of those channels.' },
        }),
        examples: { retrying },
      },
    },
    errors: ['plan_required', 'not_found', 'nothing_to_retry'],
    handle: async ({ caller, params: { id = '' } }) => ({
      status: 202,
      body: { id, retrying: await retryPost(deps, caller, id) },
    }),
  });

export const settleCall = (deps: ApiDeps): Route =>
  route({
    method: 'post',
    path: '/posts/{id}/settle',
    operationId: 'settlePost',
    tag: 'Posts',
    summary: 'Record the outcome of an unconfirmed channel',
    description:
      'An unconfirmed channel may have the post, but the network cannot tell. Check the account, and send the URL of the post, or null if it is not there. With a URL the channel becomes published, or failed if parts of a thread are missing. With null it becomes failed with `not_published`. A retry sends the missing parts. A network may take a minute to process a request, so `null` is refused until then. The URL of another post of the channel is refused. A post that had ended gets a new final event; a cancelled post that is now live on every channel ends as published. Repeating the same call changes nothing.',
    body: settleSchema,
    bodyExamples: settlements,
    answers: {
      200: {
        description: 'The updated post.',
        schema: postAnswer,
        examples: { settled, settledAbsent },
      },
    },
    errors: ['invalid_request', 'invalid_channel_ids', 'not_found', 'nothing_to_settle'],
    handle: async ({ caller: { workspaceId }, params: { id = '' }, body }) => {
      const { channel_id: channelId, url } = body;
      await settlePost(deps, { workspaceId, postId: id }, { channelId, url });
      return { status: 200, body: await showPost(deps, workspaceId, id) };
    },
  });
