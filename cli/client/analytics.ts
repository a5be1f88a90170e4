import { buildRouteMap } from '@stricli/core';
import { command } from '../command.ts';
import { count, given, network, oneOf, text, toggle } from '../flags.ts';
import { tableOf } from '../table.ts';
import { chosenChannels } from './channels.ts';
import { apiCommand } from './api-command.ts';

const period = {
  from: text('First day, such as 2027-03-01; 29 days before --to unless given', 'DAY'),
  to: text('Last day; today unless given', 'DAY'),
};

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
    ...period,
    channel: text('Only this account: its id, handle or network', 'CHANNEL'),
    platform: network('Only this network'),
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
    const shownPosts = answer.posts.map((one) => ({
      ...one,
      ...one.totals,
      text: one.thread?.[0] ?? one.body,
    }));
    const shown = [
      'post_id',
      'published_at',
      'impressions',
      'likes',
      'comments',
      'shares',
    ] as const;
    return { data: answer, text: tableOf(shownPosts, [...shown, 'text']) };
  },
});

const channels = apiCommand({
  brief: 'Shows totals and followers of each account',
  flags: period,
  call: (client, query) => client.analytics.channels(given(query)),
  show: (answer) => {
    const totals = answer.channels.map((one) => ({ ...one, ...one.totals }));
    const fields = [
      'platform',
      'handle',
      'followers',
      'posts',
      'impressions',
      'engagement',
    ] as const;
    return tableOf(totals, fields);
  },
});

export const analytics = buildRouteMap({
  routes: { posts, channels },
  docs: { brief: 'Shows the metrics of posts and accounts' },
});
