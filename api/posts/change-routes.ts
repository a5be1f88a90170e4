import type { ApiDeps } from '../deps.ts';
import type { Route } from '../http/route.ts';
import { record, uuid } from '../http/shared-schemas.ts';
import { cancelPost } from './cancel-post.ts';
import { editPost } from './edit-post.ts';
import { cancelled, edits, retrying } from './call-examples.ts';
import { draft, scheduled } from './examples.ts';
import { retryPost } from './retry-post.ts';
import { editPostSchema, type EditPostBody } from './schemas.ts';
import { postAnswer, showPost } from './show-post.ts';

export const editCall = (deps: ApiDeps): Route => ({
  method: 'patch',
  path: '/posts/{id}',
  operationId: 'editPost',
  tag: 'Posts',
  summary: 'Edit or reschedule a draft or a scheduled post',
  description:
    'Only the fields that are sent change, each as a whole; null clears `thread`, `channel_bodies`, `media_ids` and `video`. A channel that has the post already, or may have it, stays.',
  body: editPostSchema,
  bodyExamples: edits,
  answers: {
    200: {
      description: 'The post as it stands now.',
      schema: postAnswer,
      examples: { scheduled, draft },
    },
  },
  errors: [
    'invalid_request',
    'empty_body',
    'invalid_channel_ids',
    'invalid_scheduled_at',
    'invalid_media_ids',
    'invalid_media_url',
    'no_channels',
    'invalid_content',
    'plan_required',
    'quota_exceeded',
    'not_found',
    'post_not_editable',
  ],
  handle: async ({ caller, params: { id = '' }, body, hangUp }) => {
    const request = body as EditPostBody; // Checked against editPostSchema.
    await editPost(deps, caller, id, request, hangUp());
    return { status: 200, body: await showPost(deps, caller.workspaceId, id) };
  },
});

export const cancelCall = (deps: ApiDeps): Route => ({
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
          type: 'integer',
          minimum: 0,
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

export const retryCall = (deps: ApiDeps): Route => ({
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
        retrying: { type: 'array', items: uuid, description: 'Ids of those channels.' },
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
