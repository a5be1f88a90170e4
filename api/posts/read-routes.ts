import { postStatuses, type PostStatus } from '../../domain/post-status.ts';
import type { ApiDeps } from '../deps.ts';
import { cursorQuery } from '../http/cursor.ts';
import type { Route } from '../http/route.ts';
import { nullable, record, text } from '../http/shared-schemas.ts';
import { page, partial, published, scheduled } from './examples.ts';
import { listPosts, postAnswer, showPost } from './read-posts.ts';
import { postSummarySchema } from './schemas.ts';

/** How many posts a list has at most (specification, Limits). */
const most = 100;

type ListQuery = {
  readonly status?: PostStatus;
  readonly limit?: number;
  readonly cursor?: string;
};

export const listCall = (deps: ApiDeps): Route => ({
  method: 'get',
  path: '/posts',
  operationId: 'listPosts',
  tag: 'Posts',
  summary: 'The posts, newest first',
  query: {
    status: {
      description: 'Only posts with this status.',
      schema: { type: 'string', enum: [...postStatuses] },
    },
    limit: {
      description: 'How many at most.',
      schema: { type: 'integer', minimum: 1, maximum: most, default: most },
    },
    cursor: cursorQuery,
  },
  answers: {
    200: {
      description: `Up to ${most} posts, and where to go on.`,
      schema: record({
        posts: { type: 'array', items: postSummarySchema },
        next_cursor: { ...nullable(text), description: 'Null at the end.' },
      }),
      examples: { page },
    },
  },
  errors: [],
  handle: async ({ caller, query }) => {
    const { limit = most, ...rest } = query as ListQuery; // Checked against the schemas above.
    const em = deps.orm.em.fork();
    return { status: 200, body: await listPosts(em, caller.workspaceId, { ...rest, limit }) };
  },
});

export const readCall = (deps: ApiDeps): Route => ({
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
  handle: async ({ caller, params: { id = '' } }) => ({
    status: 200,
    body: await showPost(deps, caller.workspaceId, id),
  }),
});
