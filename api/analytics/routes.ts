import type { Readable } from 'node:stream';
import { AppError } from '../../domain/errors.ts';
import type { ApiDeps } from '../deps.ts';
import { route, type Route } from '../http/route.ts';
import { streamCsv } from './csv.ts';
import { startOfDay, dayOf, daysOf, endOfDay, type Days } from './days.ts';
import { analyticsExamples } from './examples.ts';
import { refreshCall } from './refresh-route.ts';
import { loadAnalytics, type Analytics } from './load-analytics.ts';
import { bestTimesCall, byChannelCall, historyCall } from './report-routes.ts';
import { analyticsQuery, analyticsSchema, type AnalyticsRequest } from './schemas.ts';
import type { Filter } from './selection.ts';

export const analyticsRoutes = (deps: ApiDeps): Route[] => [
  route({
    method: 'get',
    path: '/analytics',
    operationId: 'getAnalytics',
    tag: 'Analytics',
    summary: 'Metrics of published posts, and their totals',
    description:
      'A post counts when the first of the channels that are asked for has published it, and only channels that published it are listed. Metrics are read from the networks in the background: often while a post is new, then less and less. Until a channel was read once its `metrics` are null, and `posts_without_metrics` counts its post.',
    query: analyticsQuery,
    answers: {
      200: {
        description: 'The posts of these days, and the totals of all of them.',
        schema: analyticsSchema,
        examples: analyticsExamples,
        alsoAs: 'text/csv',
      },
    },
    errors: [],
    handle: async ({ caller, query }) =>
      query.format === 'csv'
        ? { status: 200, headers: csvHeaders, body: exported(deps, caller.workspaceId, query) }
        : { status: 200, body: await answer(deps, caller.workspaceId, query) },
  }),
  refreshCall(deps),
  byChannelCall(deps),
  bestTimesCall(deps),
  historyCall(deps),
];

const csvHeaders = { 'Content-Type': 'text/csv; charset=utf-8; header=present' };

/** @throws AppError `invalid_request` for a parameter that CSV does not support. */
function exported({ orm, now }: ApiDeps, workspaceId: string, request: AnalyticsRequest): Readable {
  const { order = 'desc', sort = 'date', limit, offset } = request;
  const isOfPage = {
    limit: limit !== undefined,
    offset: offset !== undefined,
    sort: sort !== 'date',
  };
  const details = Object.entries(isOfPage).flatMap(([name, isGiven]) =>
    isGiven ? [{ path: `?${name}`, message: 'is not for csv, which has all posts by date' }] : [],
  );
  const [first] = details;
  if (first) {
    throw new AppError('invalid_request', `${first.path} ${first.message}.`, { details });
  }

  return streamCsv(orm, filterOf(workspaceId, request, daysAsked(request, now())), order);
}

const daysAsked = (request: AnalyticsRequest, now: Date): Days =>
  daysOf(request.post_id === undefined ? request : {}, now);

const filterOf = (
  workspaceId: string,
  { post_id: postId, channel_id: channelId, platform }: AnalyticsRequest,
  { from, to }: Days,
): Filter => ({
  workspaceId,
  published: postId === undefined ? { begin: startOfDay(from), end: endOfDay(to) } : { postId },
  channelId,
  platform,
});

async function answer({ orm, now }: ApiDeps, workspaceId: string, request: AnalyticsRequest) {
  const { post_id: postId, sort = 'date', order = 'desc', limit = 50, offset = 0 } = request;
  const asked = daysAsked(request, now());
  const filter = filterOf(workspaceId, request, asked);
  const page = { sort, order, limit, offset };
  const analytics = await loadAnalytics(orm.em.fork(), Object.assign(filter, page));
  const { totals, posts, hasMore } = analytics;
  const days = postId === undefined ? asked : daysOfPost(analytics, asked);
  return { ...days, totals, posts, has_more: hasMore };
}

/**
 * With `post_id` the dates of the request are ignored, and the answer covers the day on which the post was published.
 */
function daysOfPost({ firstPublishedAt }: Analytics, otherwise: Days): Days {
  const day = firstPublishedAt && dayOf(firstPublishedAt);
  return day ? { from: day, to: day } : otherwise;
}
