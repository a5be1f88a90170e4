import type { ApiDeps } from '../deps.ts';
import { route, type Route } from '../http/route.ts';
import { startOfDay, daysOf, endOfDay, type Days } from './days.ts';
import * as examples from './more-examples.ts';
import { loadBestTimes } from './load-best-times.ts';
import { loadByChannel } from './load-by-channel.ts';
import { loadHistory } from './load-history.ts';
import {
  bestTimesQuery,
  bestTimesSchema,
  byChannelSchema,
  daysQuery,
  historyQuery,
  historySchema,
} from './report-schemas.ts';

const range = ({ from, to }: Days) => ({ begin: startOfDay(from), end: endOfDay(to) });

export const historyCall = ({ orm, now }: ApiDeps): Route =>
  route({
    method: 'get',
    path: '/analytics/{post_id}/history',
    operationId: 'getPostHistory',
    tag: 'Analytics',
    summary: 'The metrics of a post, day by day',
    description: 'Days are kept for two years, unless the operator chose otherwise.',
    query: historyQuery,
    answers: {
      200: {
        description: 'Per channel, the last metrics that its network reported on each day.',
        schema: historySchema,
        examples: examples.history,
      },
    },
    errors: ['not_found'],
    handle: async ({ caller, params: { post_id: id = '' }, query }) => {
      const days = daysOf(query, now());
      const channels = await loadHistory(orm.em.fork(), caller.workspaceId, id, days);
      return { status: 200, body: { post_id: id, ...days, channels } };
    },
  });

export const byChannelCall = ({ orm, now }: ApiDeps): Route =>
  route({
    method: 'get',
    path: '/analytics/channels',
    operationId: 'getChannelAnalytics',
    tag: 'Analytics',
    summary: 'The metrics of each channel’s posts',
    query: daysQuery,
    answers: {
      200: {
        description: 'Totals per channel, by the time at which it published.',
        schema: byChannelSchema,
        examples: examples.byChannel,
      },
    },
    errors: [],
    handle: async ({ caller, query }) => {
      const days = daysOf(query, now());
      const channels = await loadByChannel(orm.em.fork(), caller.workspaceId, range(days));
      return { status: 200, body: { ...days, channels } };
    },
  });

export const bestTimesCall = ({ orm, now }: ApiDeps): Route =>
  route({
    method: 'get',
    path: '/analytics/best-times',
    operationId: 'getBestTimes',
    tag: 'Analytics',
    summary: 'Engagement by weekday and hour of publishing',
    description: 'Each figure comes with the number of posts that it is based on.',
    query: bestTimesQuery,
    answers: {
      200: {
        description: 'The weekdays and hours at which posts went out.',
        schema: bestTimesSchema,
        examples: examples.bestTimes,
      },
    },
    errors: [],
    handle: async ({ caller, query }) => {
      const { timezone = 'UTC', channel_id: channelId, platform } = query;
      const days = daysOf(query, now());
      const filter = {
        workspaceId: caller.workspaceId,
        published: range(days),
        channelId,
        platform,
      };
      const times = await loadBestTimes(orm.em.fork(), filter, timezone);
      return { status: 200, body: { ...days, timezone, ...times } };
    },
  });
