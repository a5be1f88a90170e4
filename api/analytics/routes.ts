import type { ApiDeps } from '../deps.ts';
import { route, type Route } from '../http/route.ts';
import { beginOf, dayOf, daysOf, endOf, type Days } from './days.ts';
import { analyticsExamples } from './examples.ts';
import { refreshCall } from './refresh-route.ts';
import { loadAnalytics, type Analytics } from './load-analytics.ts';
import { bestTimesCall, byChannelCall, historyCall } from './more-routes.ts';
import { analyticsQuery, analyticsSchema, type AnalyticsRequest } from './schemas.ts';

export const analyticsRoutes = (deps: ApiDeps): Route[] => [
  route({
    method: 'get',
    path: '/analytics',
    operationId: 'getAnalytics',
    tag: 'Analytics',
    summary: 'What became of published posts: metrics of each, and their totals',
    description:
      'A post counts when the first of the channels that are asked for has published it, and only channels that published it are listed. Metrics are read from the networks in the background: often while a post is new, then less and less. Until a channel was read once its `metrics` are null, and `posts_without_metrics` counts its post.',
    query: analyticsQuery,
    answers: {
      200: {
        description: 'The posts of these days, and the totals of all of them.',
        schema: analyticsSchema,
        examples: analyticsExamples,
      },
    },
    errors: [],
    handle: async ({ caller, query }) => ({
      status: 200,
      body: await answer(deps, caller.workspaceId, query),
    }),
  }),
  refreshCall(deps),
  byChannelCall(deps),
  bestTimesCall(deps),
  historyCall(deps),
];

async function answer({ orm, now }: ApiDeps, workspaceId: string, request: AnalyticsRequest) {
  const { post_id: postId, channel_id: channelId, platform } = request;
  const { sort = 'date', order = 'desc', limit = 50, offset = 0 } = request;
  const asked = daysOf(postId === undefined ? request : {}, now());
  const analytics = await loadAnalytics(orm.em.fork(), {
    workspaceId,
    published:
      postId === undefined ? { begin: beginOf(asked.from), end: endOf(asked.to) } : { postId },
    channelId,
    platform,
    sort,
    order,
    limit,
    offset,
  });
  const { totals, posts, hasMore } = analytics;
  const days = postId === undefined ? asked : daysOfPost(analytics, asked);
  return { ...days, totals, posts, has_more: hasMore };
}

/** With `post_id` the dates of the request mean nothing: the answer is about the one day on which the post went out. */
function daysOfPost({ firstPublishedAt }: Analytics, otherwise: Days): Days {
  const day = firstPublishedAt && dayOf(firstPublishedAt);
  return day ? { from: day, to: day } : otherwise;
}
