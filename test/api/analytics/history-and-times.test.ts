import test from 'ava';
import type { Client } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { january, workspace } from './published-posts.ts';

const api = sharedApi(test, { now: () => new Date('2027-01-31T12:00:00.000Z') });

test('history has the last metrics of each day, per channel, and only days of the range', async (t) => {
  const { client, mastodon, bluesky, publish } = await workspace(api);
  const id = await publish('2027-01-10T08:00:00Z', [
    { channel: mastodon, metrics: { likes: 3 } },
    { channel: bluesky },
    { channel: (await workspace(api)).x, status: 'failed' },
  ]);
  const em = api.punctual.orm.em.fork();
  const days = ['2027-01-09', '2027-01-10', '2027-01-11', '2027-01-20'];
  for (const [likes, day] of days.entries()) {
    await em.execute(
      `insert into metric_days (post_channel_id, day, workspace_id, metrics)
       select id, ?::date, workspace_id, ?::jsonb from post_channels where post_id = ? and channel_id = ?`,
      [day, JSON.stringify({ likes, odd: 1 }), id, mastodon],
    );
  }

  const range = 'from=2027-01-10&to=2027-01-19';
  const { status, body } = await client.get(`/analytics/${id}/history?${range}`);
  t.is(status, 200);
  t.like(body, { post_id: id, from: '2027-01-10', to: '2027-01-19' });
  t.is(body.channels.length, 2);
  t.like(body.channels[0], { channel_id: mastodon, platform: 'mastodon', gone_at: null });
  t.deepEqual(body.channels[0].days, [
    { day: '2027-01-10', metrics: { likes: 1 } },
    { day: '2027-01-11', metrics: { likes: 2 } },
  ]);
  t.deepEqual(body.channels[1].days, []);
  t.is((await client.get(`/analytics/${id}/history`)).body.channels[0].days.length, 4);
  for (const edge of ['from=0000-01-01&to=0000-12-31', 'to=0000-01-01', 'to=9999-12-31']) {
    const { status: atEdge, body: far } = await client.get(`/analytics/${id}/history?${edge}`);
    t.is(atEdge, 200, edge);
    t.deepEqual(far.channels[0].days, [], edge);
  }

  const stranger = await api.newClient();
  t.is((await stranger.get(`/analytics/${id}/history`)).status, 404);
  t.is((await client.get(`/analytics/${id}/history?from=2026-01-30&to=2027-01-31`)).status, 400);
});

test('each channel has its posts, totals and rate, and a network without views has no rate', async (t) => {
  const { client, mastodon, bluesky, x, publish } = await workspace(api);
  await publish('2027-01-10T08:00:00Z', [
    { channel: mastodon, metrics: { likes: 3, shares: 1 } },
    { channel: x, metrics: { impressions: 100, likes: 4, comments: 1 } },
  ]);
  await publish('2027-01-31T23:59:59.999Z', [{ channel: x, metrics: { likes: 50 } }]);
  await publish('2027-01-01T00:00:00.000Z', [{ channel: x }]);
  await publish('2027-02-01T00:00:00.000Z', [{ channel: x, metrics: { impressions: 9 } }]);
  await publish('2027-03-01T00:00:00.000Z', [{ channel: x }]);
  await api.punctual.orm.em
    .fork()
    .execute('update channels set followers = 7, followers_updated_at = now() where id = ?', [x]);

  const { body } = await client.get(`/analytics/channels?${january}`);
  const [one, other, third] = body.channels;
  t.is(body.channels.length, 3);
  t.like(one, { channel_id: mastodon, engagement_rate: null, followers: null });
  t.like(one.totals, { posts: 1, posts_without_metrics: 0, impressions: null, engagement: 4 });
  t.like(other, { channel_id: bluesky, engagement_rate: null });
  t.like(other.totals, { posts: 0, posts_without_metrics: 0, impressions: null, likes: 0 });
  t.like(third, { channel_id: x, engagement_rate: 0.05, followers: 7 });
  t.like(third.totals, { posts: 3, posts_without_metrics: 1, impressions: 100, engagement: 55 });
  const march = await client.get('/analytics/channels?from=2027-03-01&to=2027-03-31');
  t.like(march.body.channels[2].totals, { posts: 1, likes: null, saves: null, engagement: null });
});

test('a disconnected channel is listed only if it has posts in the range', async (t) => {
  const { client, mastodon, bluesky, publish } = await workspace(api);
  await publish('2027-01-10T08:00:00Z', [{ channel: mastodon, metrics: { likes: 3 } }]);
  for (const id of [mastodon, bluesky]) {
    t.is((await client.delete(`/channels/${id}`)).status, 200);
  }

  const listed = async (query: string): Promise<string[]> =>
    (await client.get(`/analytics/channels?${query}`)).body.channels.map(
      (one: { channel_id: string }) => one.channel_id,
    );
  t.true((await listed(january)).includes(mastodon));
  t.false((await listed(january)).includes(bluesky));
  t.false((await listed('from=2026-01-01&to=2026-01-31')).includes(mastodon));
});

test('best times are weekdays and hours of the named zone, with the number of posts', async (t) => {
  const { client, mastodon, x, publish } = await workspace(api);
  // 2027-01-10 is a Sunday.
  await publish('2027-01-10T23:30:00Z', [{ channel: mastodon, metrics: { likes: 3 } }]);
  await publish('2027-01-10T23:59:59.999Z', [{ channel: mastodon, metrics: { likes: 4 } }]);
  await publish('2027-01-11T00:00:00.000Z', [
    { channel: mastodon, metrics: { likes: 10, impressions: 5 } },
    { channel: x, metrics: { shares: 2 } },
  ]);
  await publish('2027-01-12T00:00:00.000Z', [{ channel: mastodon }]);
  const read = async (query: string) =>
    (await client.get(`/analytics/best-times?${january}&${query}`)).body;

  const utc = await read('');
  t.like(utc, { timezone: 'UTC', posts_without_metrics: 1 });
  t.deepEqual(utc.times, [
    { weekday: 1, hour: 0, posts: 1, engagement: 12, average: 12 },
    { weekday: 7, hour: 23, posts: 2, engagement: 7, average: 3.5 },
  ]);
  t.deepEqual((await read('timezone=Europe/Berlin')).times, [
    { weekday: 1, hour: 0, posts: 2, engagement: 7, average: 3.5 },
    { weekday: 1, hour: 1, posts: 1, engagement: 12, average: 12 },
  ]);
  t.deepEqual((await read(`timezone=Asia/Kathmandu&channel_id=${x}`)).times, [
    { weekday: 1, hour: 5, posts: 1, engagement: 2, average: 2 },
  ]);
  t.is((await read('platform=x')).times.length, 1);
});

test('hours follow the IANA zone, even if PostgreSQL has an abbreviation of that name', async (t) => {
  const { client, mastodon, publish } = await workspace(api);
  await publish('2026-07-10T12:00:00Z', [{ channel: mastodon, metrics: { likes: 3 } }]);
  for (const [zone, hour] of [
    ['CET', 14],
    ['cet', 14],
    ['EST5EDT', 8],
    ['EST', 7],
  ] as const) {
    const asked = `from=2026-07-01&to=2026-07-31&timezone=${zone}`;
    const { body } = await client.get(`/analytics/best-times?${asked}`);
    t.is(body.timezone, zone);
    t.is(body.times[0]?.hour, hour, zone);
  }
});

const download = async ({ key }: Client, query: string): Promise<string> => {
  const url = `${api.punctual.url}/api/v1/analytics?format=csv&${query}`;
  return (await fetch(url, { headers: { authorization: `Bearer ${key}` } })).text();
};

test('days of analytics are those of the time zone, in lists, totals, CSV and by channel', async (t) => {
  const { client, mastodon, publish } = await workspace(api);
  const late = await publish('2027-06-10T22:30:00Z', [
    { channel: mastodon, metrics: { likes: 3 } },
  ]);
  const dayOf = async (day: string, zone?: string) => {
    const asked = `from=${day}&to=${day}${zone === undefined ? '' : `&timezone=${zone}`}`;
    const [list, channels, csv] = [
      (await client.get(`/analytics?${asked}`)).body,
      (await client.get(`/analytics/channels?${asked}`)).body.channels,
      await download(client, asked),
    ];
    const ofChannel = channels.find((one: { channel_id: string }) => one.channel_id === mastodon);
    t.is(list.totals.posts, ofChannel.totals.posts);
    t.is(csv.includes(late), list.totals.posts === 1);
    return list.totals.posts;
  };
  t.is(await dayOf('2027-06-10'), 1);
  t.is(await dayOf('2027-06-11'), 0);
  t.is(await dayOf('2027-06-10', 'Europe/Berlin'), 0);
  t.is(await dayOf('2027-06-11', 'Europe/Berlin'), 1);
  t.is(await dayOf('2027-06-10', 'America/New_York'), 1);
  const one = await client.get(`/analytics?post_id=${late}&timezone=Europe/Berlin`);
  t.like(one.body, { from: '2027-06-11', to: '2027-06-11' });
  t.is((await client.get('/analytics?timezone=Mars')).body.details[0].path, '?timezone');
});

test('a time zone that does not exist, or is an offset, is 400 and named', async (t) => {
  const client = await api.newClient();
  for (const zone of ['Mars/Base', '', '%2B02:00', 'UTC%00', '../etc/passwd', 'PST']) {
    const { status, body } = await client.get(`/analytics/best-times?timezone=${zone}`);
    t.is(status, 400, zone);
    t.is(body.details[0].path, '?timezone', zone);
  }

  for (const zone of ['UTC', 'Etc/GMT%2B5', 'America/Argentina/Buenos_Aires', 'europe/berlin']) {
    t.is((await client.get(`/analytics/best-times?timezone=${zone}`)).status, 200, zone);
  }
});
