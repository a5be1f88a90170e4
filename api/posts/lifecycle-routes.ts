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
      'The post becomes a draft. Channels that are being sent at this moment finish and keep their result; so do those that the network may have, which are looked for, and threads of which a part is live. Of a channel that has not ended, `url` and `warning` say what is live.',
    answers: {
      200: {
        description: 'The post is a draft.',
        schema: record({
          ok: { type: 'boolean', const: true },
          id: uuid,
          still_sending: {
            ...count,
            description: 'How many channels are being sent, or looked for, and will finish.',
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
      'Published channels are left alone, and so are unconfirmed ones, which may have the post. The new outcome is a new event.',
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
    summary: 'Say what became of an unconfirmed channel',
    description:
      'For a channel of which neither the network nor we can tell whether it has the post: look at the account, and say where it is or that it is not there. A channel that has it is published, or failed where parts of a thread are missing; one that does not have it is failed, with `not_published`, and a retry sends what is missing. The network may take a minute to write what it was asked for, so that `null` is refused until then. The address of another post of the channel is refused. A post that had ended ends anew, with a new event; one that was cancelled, and that every channel has now, ends as published. The same answer given again changes nothing.',
    body: settleSchema,
    bodyExamples: settlements,
    answers: {
      200: {
        description: 'The post as it stands now.',
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
