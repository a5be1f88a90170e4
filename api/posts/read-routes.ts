import { oneOf } from '../../domain/json-schema.ts';
import { postStatuses } from '../../domain/post-status.ts';
import type { ApiDeps } from '../deps.ts';
import { cursorQuery } from '../http/cursor.ts';
import { route, type Route } from '../http/route.ts';
import { pageExample, partial, published, scheduled } from './examples.ts';
import { listPosts, showPost } from './read-posts.ts';
import { postAnswer, postListSchema } from './schemas.ts';

/** Maximum posts per page. */
const most = 100;

export const listCall = (deps: ApiDeps): Route =>
  route({
    method: 'get',
    path: '/posts',
    operationId: 'listPosts',
    tag: 'Posts',
    summary: 'The posts, newest first',
    query: {
      status: {
        description: 'Only posts with this status.',
        schema: oneOf(postStatuses),
      },
      limit: {
        description: 'The maximum number of posts.',
        schema: { type: 'integer', minimum: 1, maximum: most, default: most },
      },
      cursor: cursorQuery,
    },
    answers: {
      200: {
        description: `A page of up to ${most} posts.`,
        schema: postListSchema,
        examples: { page: pageExample },
      },
    },
    errors: [],
    handle: async ({ caller, query }) => {
      const { limit = most, ...rest } = query;
      const em = deps.orm.em.fork();
      return { status: 200, body: await listPosts(em, caller.workspaceId, { ...rest, limit }) };
    },
  });

export const readCall = (deps: ApiDeps): Route =>
  route({
    method: 'get',
    path: '/posts/{id}',
    operationId: 'getPost',
    tag: 'Posts',
    summary: 'A post, with its outcome on each channel',
    answers: {
      200: {
        description: 'The post.',
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
