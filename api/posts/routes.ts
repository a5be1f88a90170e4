import { AppError } from '../../domain/errors.ts';
import { loadPostView } from '../../db/load-post-view.ts';
import type { ApiDeps } from '../deps.ts';
import type { Answer, Request, Route } from '../http/route.ts';
import { location, record } from '../http/shared-schemas.ts';
import { createPost } from './create-post.ts';
import { draft, newPosts, partial, published, scheduled } from './examples.ts';
import { idempotencyKey } from './idempotency.ts';
import { createPostSchema, postSchema, type CreatePostBody } from './schemas.ts';

const postAnswer = record({ post: postSchema });

export const postRoutes = (deps: ApiDeps): Route[] => [createCall(deps), readCall(deps)];

const createCall = (deps: ApiDeps): Route => ({
  method: 'post',
  path: '/posts',
  operationId: 'createPost',
  tag: 'Posts',
  summary: 'Create a draft, or schedule a post or a thread',
  requestHeaders: {
    'Idempotency-Key': {
      description: 'The same key with the same body makes one post, however often it is sent.',
      schema: { type: 'string', minLength: 1, maxLength: 255 },
    },
  },
  body: createPostSchema,
  bodyExamples: newPosts,
  answers: {
    201: {
      description: 'The post was stored, and is scheduled or a draft.',
      schema: postAnswer,
      headers: { Location: location },
      examples: { draft, scheduled },
    },
    200: {
      description: 'The post that this idempotency key made before, as it stands now.',
      schema: postAnswer,
      headers: {
        'Idempotency-Replayed': {
          description: 'Nothing was stored by this call.',
          schema: { type: 'string', const: 'true' },
        },
      },
      examples: { scheduled, published },
    },
  },
  errors: [
    'invalid_request',
    'empty_body',
    'invalid_channel_ids',
    'invalid_scheduled_at',
    'no_channels',
    'invalid_content',
    'idempotency_key_reused',
    'plan_required',
  ],
  handle: (request) => create(deps, request),
});

const readCall = (deps: ApiDeps): Route => ({
  method: 'get',
  path: '/posts/{id}',
  operationId: 'getPost',
  tag: 'Posts',
  summary: 'A post, with what became of it on each channel',
  answers: {
    200: {
      description: 'The post as it stands.',
      schema: postAnswer,
      examples: { scheduled, published, partial },
    },
  },
  errors: ['not_found'],
  handle: async ({ caller, params: { id = '' } }) => {
    const post = await loadPostView(deps.orm.em.fork(), caller.workspaceId, id);
    if (!post) {
      throw new AppError('not_found', `There is no post "${id}".`);
    }

    return { status: 200, body: { post } };
  },
});

async function create(deps: ApiDeps, { caller, body, header }: Request): Promise<Answer> {
  const request = body as CreatePostBody; // Checked against createPostSchema.
  const key = idempotencyKey(header('idempotency-key'), request.idempotency_key);
  const { postId, replayed } = await createPost(deps, caller, request, key);
  const post = await loadPostView(deps.orm.em.fork(), caller.workspaceId, postId);
  if (!post) {
    throw new AppError('not_found', `There is no post "${postId}".`);
  }

  return replayed
    ? { status: 200, body: { post }, headers: { 'Idempotency-Replayed': 'true' } }
    : { status: 201, body: { post }, headers: { Location: `/api/v1/posts/${postId}` } };
}
