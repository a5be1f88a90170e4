import {
  fields,
  flag,
  listOf,
  nullable,
  oneOf,
  record,
  text,
  uuid,
} from '../../domain/json-schema.ts';
import { postSchema } from '../../domain/post-view.ts';
import { copyPost } from '../../services/posts/copy-post.ts';
import { deletePost } from '../../services/posts/delete-post.ts';
import { showPost } from '../../services/posts/read-posts.ts';
import {
  createdAnswer,
  idempotencyHeader,
  replayedHeader,
  requestKey,
} from '../http/idempotency.ts';
import { location, route } from '../http/route.ts';
import { draft } from './examples.ts';
import { postAnswer } from './schemas.ts';

export const copyRoute = route({
  method: 'post',
  path: '/posts/{id}/copy',
  operationId: 'copyPost',
  scope: 'posts:write',
  tag: 'Posts',
  summary: 'Make a draft with the content of a post',
  description:
    'Any post can be copied, with its texts, options and files. Disconnected channels and deleted files are left out, and `warning` names them, and parts that are live on a channel where the post failed: the copy sends these again. To send the same post again to the channels that failed, retry it instead.',
  requestHeaders: idempotencyHeader,
  body: fields({
    only: {
      ...oneOf(['failed']),
      description:
        'Copies only the channels that failed. An unconfirmed channel is left out, since it may have the post.',
    },
  }),
  isBodyOptional: true,
  bodyExamples: {
    all: { summary: 'All channels', value: {} },
    failed: { summary: 'The channels that failed', value: { only: 'failed' } },
  },
  answers: {
    201: {
      description: 'The draft.',
      schema: postAnswer,
      headers: { Location: location },
      examples: { draft },
    },
    200: {
      description: 'The post that this idempotency key created before, in its current state.',
      schema: postAnswer,
      headers: replayedHeader,
    },
  },
  errors: ['plan_required', 'quota_exceeded', 'nothing_to_copy', 'post_deleted'],
  handle: async ({ caller, params: { id = '' }, body: { only }, header }, deps) => {
    const key = requestKey(header, 'copyPost', { id, only });
    const { postId, replayed } = await copyPost(deps, caller, id, only, key);
    const post = await showPost(deps, caller, postId);
    return createdAnswer({ post }, replayed, `/api/v1/posts/${postId}`);
  },
});

export const deleteRoute = route({
  method: 'delete',
  path: '/posts/{id}',
  operationId: 'deletePost',
  scope: 'posts:write',
  tag: 'Posts',
  summary: 'Delete a post',
  description:
    'Deletes a post with its results and metrics; a scheduled or retrying one is cancelled first, and nothing is sent afterwards. What is live on a network stays live: `live` names it. Events are still delivered, and files stay in the library. A post is refused with `post_being_sent` while the outcome of a request is not known yet. Its idempotency key is free again after 24 hours.',
  answers: {
    200: {
      description: 'The post is deleted.',
      schema: record({
        ok: { type: 'boolean', const: true },
        id: uuid,
        live: {
          ...listOf(
            record({
              channel_id: uuid,
              platform: text,
              url: { ...nullable(text), description: 'Null if it is unknown.' },
              confirmed: {
                ...flag,
                description: 'False: the network may or may not have the post.',
              },
            }),
          ),
          description: 'The channels on which the post, or a part of its thread, stays live.',
        },
        post: { ...postSchema, description: 'The post before it was deleted.' },
      }),
    },
  },
  errors: ['post_being_sent'],
  handle: async ({ caller, params: { id = '' } }, deps) => {
    const { live, post, toSync } = await deletePost(deps, { ...caller, postId: id });
    if (toSync) {
      deps.syncPost(toSync);
    }

    return { status: 200, body: { ok: true, id, live: [...live], post } };
  },
});
