import { reaches } from '../../domain/api-keys.ts';
import { knownId, record } from '../../domain/json-schema.ts';
import { exportCsv } from '../../services/analytics/export-csv.ts';
import { listAnalytics } from '../../services/analytics/load-analytics.ts';
import {
  loadBestTimes,
  loadByChannel,
  loadHistory,
  refreshPost,
} from '../../services/analytics/load-reports.ts';
import { daysOf, rangeOf } from '../../services/analytics/selection.ts';
import { assertOneChannel } from '../../services/keys/channel-restriction.ts';
import { assertKnownFilter, assertReachesStored } from '../../services/posts/read-posts.ts';
import { ok, routesWith, type Route, accepted } from '../http/route.ts';
import {
  analyticsQuery,
  analyticsSchema,
  bestTimesQuery,
  bestTimesSchema,
  byChannelSchema,
  daysQuery,
  historyQuery,
  historySchema,
  refreshSchema,
} from './schemas.ts';

const route = routesWith({ tag: 'Analytics', scope: 'analytics' });

const csvHeaders = (name: string) => ({
  'Content-Type': 'text/csv; charset=utf-8; header=present',
  'Content-Disposition': `attachment; filename="analytics-${name}.csv"`,
});

function daysNamed(...asked: Parameters<typeof daysOf>): string {
  const { from, to } = daysOf(...asked);
  return `${from}-${to}`;
}

const nothingPublished = 'Nothing of this post is published, so it has no metrics.';

export const analyticsRoutes: Route[] = [
  route.get('/analytics', {
    operationId: 'getAnalytics',
    summary: 'Metrics of published posts, and their totals',
    description:
      'A post counts once it has ended, or metrics of one of its channels were read, at the time of the first channel that is asked for; only channels that published it are listed. Metrics are read from the networks in the background: often while a post is new, then less and less. Until a channel was read once its `metrics` are null, and `posts_without_metrics` counts its post.',
    query: analyticsQuery,
    answers: {
      200: {
        description: 'The posts of these days, and the totals of all of them.',
        schema: analyticsSchema,
        alsoAs: 'text/csv',
      },
    },
    errors: ['not_found'],
    handle: async ({ caller, query, assertStillAllowed }, deps) => {
      const { post_id: postId, channel_id: channelId } = query;
      const { workspaceId } = caller;
      assertOneChannel(caller, channelId);
      await assertKnownFilter(deps.orm.em.fork(), caller, { channelId, postId });
      const request = { ...query, postId, channelId };
      if (query.format === 'csv') {
        const body = exportCsv(deps, workspaceId, request, assertStillAllowed);
        return { status: 200, headers: csvHeaders(postId ?? daysNamed(query, deps.now())), body };
      }

      const { days, totals, posts, hasMore } = await listAnalytics(deps, workspaceId, request);
      return { status: 200, body: { ...days, totals, posts, has_more: hasMore } };
    },
  }),
  route.post('/analytics/refresh', {
    operationId: 'refreshAnalytics',
    summary: "Read a post's metrics now",
    description:
      'Metrics are refreshed automatically. This call refreshes those of one post early, within the limits of its networks. The answer does not wait for them: `metrics_updated_at` says when they were read. Networks that charge for reads are read at most as often as the operator has set.',
    body: record({ post_id: knownId }),
    answers: accepted('The refresh state of each of its published channels.', refreshSchema),
    errors: ['not_found'],
    handle: async ({ caller, body }, deps) => {
      const { workspaceId } = caller;
      await assertReachesStored(deps.orm.em.fork(), caller, body.post_id, 'read');
      const { channels, toRefresh } = await refreshPost(deps, workspaceId, body.post_id);
      if (toRefresh) {
        deps.refreshPost(toRefresh);
      }

      const warning = channels.length > 0 ? null : nothingPublished;
      return { status: 202, body: { post_id: body.post_id, channels, warning } };
    },
  }),
  route.get('/analytics/channels', {
    operationId: 'getChannelAnalytics',
    summary: 'The metrics of each channel’s posts',
    description: 'Totals of the posts that were published in these days, by channel.',
    query: { ...daysQuery, timezone: analyticsQuery.timezone },
    answers: ok('Totals per channel, by the time at which it published.', byChannelSchema),
    handle: async ({ caller, query }, { orm, now }) => {
      const days = daysOf(query, now());
      const range = rangeOf(days, query.timezone);
      const all = await loadByChannel(orm.em.fork(), caller.workspaceId, range);
      const channels = all.filter(({ channel_id: id }) => reaches(caller, id));
      return { status: 200, body: { ...days, channels } };
    },
  }),
  route.get('/analytics/best-times', {
    operationId: 'getBestTimes',
    summary: 'Engagement by weekday and hour of publishing',
    description: 'Each figure comes with the number of posts that it is based on.',
    query: bestTimesQuery,
    answers: ok('The weekdays and hours at which posts went out.', bestTimesSchema),
    errors: ['not_found'],
    handle: async ({ caller, query }, { orm, now }) => {
      const { timezone = 'UTC', channel_id: channelId, platform } = query;
      const days = daysOf({ from: query.from, to: query.to }, now());
      assertOneChannel(caller, channelId);
      await assertKnownFilter(orm.em.fork(), caller, { channelId });
      const filter = {
        workspaceId: caller.workspaceId,
        published: rangeOf(days),
        channelId,
        platform,
      };
      const times = await loadBestTimes(orm.em.fork(), filter, timezone);
      return { status: 200, body: { ...days, timezone, ...times } };
    },
  }),
  route.get('/analytics/{post_id}/history', {
    operationId: 'getPostHistory',
    summary: 'The metrics of a post, day by day',
    description: 'Days are kept for two years, unless the operator chose otherwise.',
    query: historyQuery,
    answers: ok(
      'Per channel, the last metrics that its network reported on each day.',
      historySchema,
    ),
    handle: async ({ caller, params: { post_id: id = '' }, query }, { orm, now }) => {
      const days = daysOf(query, now());
      const channels = await loadHistory(orm.em.fork(), caller.workspaceId, id, days);
      return { status: 200, body: { post_id: id, ...days, channels } };
    },
  }),
];
