import { buildRouteMap } from '@stricli/core';
import { command } from '../command.ts';
import { count, given, oneOf, text, toggle } from '../flags.ts';
import { beginning, localTime, ownZone } from '../table.ts';
import { chosenChannels, platforms } from './channels.ts';

const period = {
  from: text('First day, such as 2027-03-01; 29 days before --to unless given', 'DAY'),
  to: text('Last day; today unless given', 'DAY'),
};

const filters = {
  ...period,
  channel: text('Only this account: its id, handle or network', 'CHANNEL'),
  platform: oneOf(platforms, 'Only this network'),
};

/** A figure; `-` if it was never read. */
const figure = (value: number | null | undefined): string => String(value ?? '-');

const sorts = [
  'date',
  'impressions',
  'likes',
  'comments',
  'shares',
  'saves',
  'engagement',
] as const;

const posts = command({
  brief: 'Shows the metrics of published posts',
  examples: ['analytics posts --sort engagement', 'analytics posts --csv > posts.csv'],
  flags: {
    ...filters,
    sort: oneOf(sorts, 'Order of the posts'),
    order: oneOf(['asc', 'desc'], 'Its direction'),
    limit: count('How many posts'),
    offset: count('How many posts to leave out'),
    csv: toggle('Prints all of them as CSV'),
  },
  run: async ({ client: open }, { channel, csv, ...query }) => {
    const client = await open();
    const [id] = channel === undefined ? [] : await chosenChannels(client, [channel]);
    const fields = given({ ...query, channel_id: id });
    if (csv) {
      const answer = await client.analytics.csv(fields);
      return { data: answer, text: answer.trimEnd() };
    }

    const answer = await client.analytics.posts(fields);
    const head = ['POST', 'PUBLISHED', 'IMPRESSIONS', 'LIKES', 'COMMENTS', 'SHARES', 'TEXT'];
    const rows = answer.posts.map(({ post_id: post, published_at: at, totals, ...one }) => [
      post,
      localTime(at),
      figure(totals.impressions),
      figure(totals.likes),
      figure(totals.comments),
      figure(totals.shares),
      beginning(one.thread?.[0] ?? one.body ?? '', 40),
    ]);
    return { data: answer, text: { head, rows } };
  },
});

const channels = command({
  brief: 'Shows totals and followers of each account',
  flags: period,
  run: async ({ client }, query) => {
    const answer = await (await client()).analytics.channels(given(query));
    const head = ['NETWORK', 'HANDLE', 'FOLLOWERS', 'POSTS', 'IMPRESSIONS', 'ENGAGEMENT'];
    const rows = answer.channels.map(({ totals, ...one }) => [
      one.platform,
      one.handle,
      figure(one.followers),
      figure(totals.posts),
      figure(totals.impressions),
      figure(totals.engagement),
    ]);
    return { data: answer, text: { head, rows } };
  },
});

const weekdays = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

const bestTimes = command({
  brief: 'Shows the engagement by weekday and hour',
  flags: { ...filters, timezone: text('Time zone of the hours; yours unless given', 'ZONE') },
  run: async ({ client: open }, { channel, timezone = ownZone(), ...query }) => {
    const client = await open();
    const [id] = channel === undefined ? [] : await chosenChannels(client, [channel]);
    const answer = await client.analytics.bestTimes(given({ ...query, timezone, channel_id: id }));
    const rows = answer.times.map((one) => [
      weekdays[one.weekday - 1] ?? '',
      `${String(one.hour).padStart(2, '0')}:00`,
      figure(one.posts),
      one.average.toFixed(1),
    ]);
    const head = ['DAY', `HOUR (${answer.timezone})`, 'POSTS', 'ENGAGEMENT OF A POST'];
    return { data: answer, text: { head, rows } };
  },
});

const history = command({
  brief: 'Shows the metrics of a post by day',
  args: { post: 'Id of the post' },
  flags: period,
  run: async ({ client }, { post: id, ...query }) => {
    const answer = await (await client()).analytics.history(id, given(query));
    const rows = answer.channels.flatMap(({ platform, handle, days }) =>
      days.map(({ day, metrics }) => [
        day,
        platform,
        handle,
        Object.entries(metrics)
          .filter(([, value]) => value !== null)
          .map(([name, value]) => `${name} ${String(value)}`)
          .join(', '),
      ]),
    );
    return { data: answer, text: { head: ['DAY', 'NETWORK', 'HANDLE', 'METRICS'], rows } };
  },
});

export const analytics = buildRouteMap({
  routes: { posts, channels, bestTimes, history },
  docs: { brief: 'Shows the metrics of posts and accounts' },
});
