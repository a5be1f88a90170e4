import { assertReaches } from '../../domain/api-keys.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import { fingerprint, type RequestKey } from '../../services/idempotency.ts';
import { createPost } from '../../services/posts/create-post.ts';
import { editPost } from '../../services/posts/edit-post.ts';
import {
  createPostSchema,
  editPostSchema,
  plainInput,
  withoutNulls,
  type CreatePostBody,
} from '../../services/posts/post-request.ts';
import { showPost } from '../../services/posts/read-posts.ts';
import { validatePost } from '../../services/posts/validate-post.ts';
import {
  createdAnswer,
  idempotencyHeader,
  idempotencyKey,
  replayedHeader,
} from '../http/idempotency.ts';
import { ok, location, route, type Request } from '../http/route.ts';
import { draft, newPosts, scheduled } from './examples.ts';
import { postAnswer, validatedSchema } from './schemas.ts';

/** Error codes of a post's fields before the network rules apply. */
const requestErrors: readonly ErrorCode[] = [
  'empty_body',
  'invalid_channel_ids',
  'invalid_channel_options',
  'invalid_scheduled_at',
  'invalid_media_ids',
  'invalid_media_url',
];

export const createRoute = route({
  method: 'post',
  path: '/posts',
  operationId: 'createPost',
  tag: 'Posts',
  scope: 'posts:write',
  summary: 'Create a draft, or schedule a post or a thread',
  description:
    'Without a time it is a draft. With an `Idempotency-Key`, a repeated call creates no second post; it is a 404 if the post is now on no channel of the key. A post with a time needs the scope `posts:publish` too.',
  requestHeaders: idempotencyHeader,
  body: createPostSchema,
  bodyExamples: newPosts,
  answers: {
    201: {
      description: 'The new post, scheduled or a draft.',
      schema: postAnswer,
      headers: { Location: location },
      examples: { draft, scheduled },
    },
    200: {
      description: 'The post that this idempotency key created before, in its current state.',
      schema: postAnswer,
      headers: replayedHeader,
    },
  },
  errors: [
    ...requestErrors,
    'no_channels',
    'invalid_content',
    'not_found',
    'post_deleted',
    'external_id_taken',
    'plan_required',
    'quota_exceeded',
  ],
  handle: async ({ caller, body, header, clientSignal }, deps) => {
    const key = createKey(header, body);
    const input = plainInput(withoutNulls(body));
    const created = await createPost(deps, caller, input, key, { signal: clientSignal() });
    const { postId, replayed, toSync } = created;
    if (toSync) {
      deps.syncPost(toSync);
    }

    const answer = { post: await showPost(deps, caller, postId) };
    return createdAnswer(answer, replayed, `/api/v1/posts/${postId}`);
  },
});

export const validateRoute = route({
  method: 'post',
  path: '/posts/validate',
  operationId: 'validatePost',
  tag: 'Posts',
  scope: 'posts:write',
  summary: 'Validate a post by the rules of its networks',
  description:
    'Validates the post by the same rules as its creation, and stores nothing. Faults that no network rule covers, such as an unknown channel or a taken `external_id`, fail as they would there.',
  body: createPostSchema,
  isReadOnly: true,
  bodyExamples: newPosts,
  answers: ok('The result for each channel of the post.', validatedSchema),
  errors: [...requestErrors, 'quota_exceeded', 'external_id_taken'],
  handle: async ({ caller, body, clientSignal }, deps) => {
    assertReaches(caller, body.channel_ids ?? []);
    const input = plainInput(withoutNulls(body));
    return { status: 200, body: await validatePost(deps, caller, input, clientSignal()) };
  },
});

export const editRoute = route({
  method: 'patch',
  path: '/posts/{id}',
  operationId: 'editPost',
  tag: 'Posts',
  scope: 'posts:write',
  summary: 'Edit or reschedule a draft or a scheduled post',
  description:
    'Only the fields that are sent change, each as a whole; null clears a field whose schema allows it. `thread` replaces the files of its later parts too. A channel that has the post, or may have it, stays; another one that leaves the post loses its `channel_bodies`, `channel_media` and `channel_options`, with a `warning`. A post that is scheduled afterwards needs the scope `posts:publish` too.',
  body: editPostSchema,
  bodyExamples: {
    reschedule: { summary: 'Another time', value: { scheduled_at: '2027-03-02T09:00:00Z' } },
    unschedule: { summary: 'Back to a draft', value: { scheduled_at: null } },
  },
  answers: {
    200: {
      description: 'The updated post.',
      schema: postAnswer,
      examples: { scheduled, draft },
    },
  },
  errors: [
    ...requestErrors,
    'no_channels',
    'invalid_content',
    'plan_required',
    'quota_exceeded',
    'external_id_taken',
    'post_not_editable',
  ],
  handle: async ({ caller, params: { id = '' }, body, clientSignal }, deps) => {
    const toSync = await editPost(deps, caller, id, plainInput(body), clientSignal());
    if (toSync) {
      deps.syncPost(toSync);
    }

    return { status: 200, body: { post: await showPost(deps, caller, id) } };
  },
});

/** Returns the idempotency key of a creation with the fingerprint of its body; undefined without a key. */
function createKey(
  header: Request['header'],
  { idempotency_key: fromBody, ...rest }: CreatePostBody,
): RequestKey | undefined {
  const key = idempotencyKey(header, fromBody ?? undefined);
  return key === undefined ? undefined : { key, print: fingerprint(rest) };
}
