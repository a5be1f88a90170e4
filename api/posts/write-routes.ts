import { assertReaches } from '../../domain/api-keys.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import { fields, oneOf } from '../../domain/json-schema.ts';
import { fingerprint, type RequestKey } from '../../services/idempotency.ts';
import { copyPost } from '../../services/posts/copy-post.ts';
import { createPost } from '../../services/posts/create-post.ts';
import { deletePost } from '../../services/posts/delete-post.ts';
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
  requestKey,
} from '../http/idempotency.ts';
import { ok, routesWith, type Request } from '../http/route.ts';
import { draft, newPosts, scheduled } from './examples.ts';
import { createdPost, postAnswer, validatedSchema, deletedPost } from './schemas.ts';

const route = routesWith({ tag: 'Posts' });

/** Error codes of a post's fields before the network rules apply. */
const requestErrors: readonly ErrorCode[] = [
  'empty_body',
  'invalid_channel_ids',
  'invalid_channel_options',
  'invalid_scheduled_at',
  'invalid_media_ids',
  'invalid_media_url',
];

export const createRoute = route.post('/posts', {
  operationId: 'createPost',
  scope: 'posts:write',
  summary: 'Create a draft, or schedule a post or a thread',
  description:
    'Without a time it is a draft. With an `Idempotency-Key`, a repeated call creates no second post; it is a 404 if the post is now on no channel of the key. A post with a time needs the scope `posts:publish` too.',
  requestHeaders: idempotencyHeader,
  body: createPostSchema,
  bodyExamples: newPosts,
  answers: createdPost('The new post, scheduled or a draft.', { draft, scheduled }),
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

export const validateRoute = route.post('/posts/validate', {
  operationId: 'validatePost',
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

export const editRoute = route.patch('/posts/{id}', {
  operationId: 'editPost',
  scope: 'posts:write',
  summary: 'Edit or reschedule a draft or a scheduled post',
  description:
    'Only the fields that are sent change, each as a whole; null clears a field whose schema allows it. `thread` replaces the files of its later parts too. A channel that has the post, or may have it, stays; another one loses its `channel_bodies`, `channel_media` or `channel_options` when it leaves the post, or when the sent field leaves it out, with a `warning`. A post that is scheduled afterwards needs the scope `posts:publish` too.',
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

export const copyRoute = route.post('/posts/{id}/copy', {
  operationId: 'copyPost',
  scope: 'posts:write',
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
  answers: createdPost('The draft.', { draft }),
  errors: ['plan_required', 'quota_exceeded', 'nothing_to_copy', 'post_deleted'],
  handle: async ({ caller, params: { id = '' }, body: { only }, header }, deps) => {
    const key = requestKey(header, 'copyPost', { id, only });
    const { postId, replayed } = await copyPost(deps, caller, id, only, key);
    const post = await showPost(deps, caller, postId);
    return createdAnswer({ post }, replayed, `/api/v1/posts/${postId}`);
  },
});

export const deleteRoute = route.delete('/posts/{id}', {
  operationId: 'deletePost',
  scope: 'posts:write',
  summary: 'Delete a post',
  description:
    'Deletes a post with its results and metrics; a scheduled or retrying one is cancelled first, and nothing is sent afterwards. What is live on a network stays live: `live` names it. Events are still delivered, and files stay in the library. A post is refused with `post_being_sent` while the outcome of a request is not known yet. Its idempotency key is free again after 24 hours.',
  answers: ok('The post is deleted.', deletedPost),
  errors: ['post_being_sent'],
  handle: async ({ caller, params: { id = '' } }, deps) => {
    const { live, post, toSync } = await deletePost(deps, { ...caller, postId: id });
    if (toSync) {
      deps.syncPost(toSync);
    }

    return { status: 200, body: { ok: true, id, live: [...live], post } };
  },
});
