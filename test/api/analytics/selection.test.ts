import test, { type ExecutionContext } from 'ava';
import { newClient } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { storeChannel } from '../../support/seed.ts';
import { storePublished } from './published.ts';

const range = 'from=2027-01-01&to=2027-01-31';

/** Five posts on two channels: `a` oldest to `e` newest. `c` has no views, `e` was never looked at. */
async function world(t: ExecutionContext) {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const { workspaceId } = client;
  const mastodon = await storeChannel(punctual, workspaceId);
  const bluesky = await storeChannel(punctual, workspaceId, {
    platform: 'bluesky',
    handle: 'b.test',
  });
  const posts: [string, Record<string, number> | undefined][] = [
    ['a', { impressions: 10, likes: 1, comments: 9 }],
    ['b', { impressions: 30, likes: 3, shares: 1 }],
    ['c', { likes: 2, saves: 5 }],
    ['d', { impressions: 20, likes: 3 }],
    ['e', undefined],
  ];
  const ids: Record<string, string> = {};
  for (const [index, [name, metrics]] of posts.entries()) {
    ids[name] = await storePublished(punctual, workspaceId, {
      at: `2027-01-1${index}T12:00:00Z`,
      body: name,
      on: [
        { channelId: index % 2 === 0 ? mastodon : bluesky, ...(metrics ? { metrics } : {}) },
        ...(name === 'a' ? [{ channelId: bluesky, metrics: { likes: 1 } }] : []),
      ],
    });
  }

  const look = async (query: string) => (await client.get(`/analytics?${query}`)).body;
  const names = async (query: string): Promise<string> =>
    (await look(`${range}&${query}`)).posts.map((one: { body: string }) => one.body).join('');
  return { punctual, client, mastodon, bluesky, ids, look, names };
}

test('posts come newest first, or by a sum, and what has none of it comes last both ways', async (t) => {
  const { names } = await world(t);
  const orders: [string, string][] = [
    ['', 'edcba'],
    ['order=asc', 'abcde'],
    ['sort=date&order=desc', 'edcba'],
    ['sort=impressions', 'bdaec'],
    ['sort=impressions&order=asc', 'adbec'],
    ['sort=likes', 'dbcae'],
    ['sort=likes&order=asc', 'ecadb'],
    ['sort=comments', 'aedcb'],
    ['sort=shares', 'bedca'],
    ['sort=saves', 'cedba'],
    ['sort=engagement', 'acbde'],
    ['sort=engagement&order=asc', 'edbca'],
  ];
  for (const [query, expected] of orders) {
    t.is(await names(query), expected, query);
  }
});

test('limit and offset page the list, never the totals, and say whether there is more', async (t) => {
  const { look } = await world(t);
  const { totals } = await look(range);
  t.is(totals.posts, 5);
  const pages: [string, string, boolean][] = [
    ['limit=2', 'ed', true],
    ['limit=2&offset=2', 'cb', true],
    ['limit=2&offset=4', 'a', false],
    ['limit=5', 'edcba', false],
    ['limit=4', 'edcb', true],
    ['offset=5', '', false],
    ['offset=2147483647', '', false],
  ];
  for (const [query, expected, more] of pages) {
    const body = await look(`${range}&${query}`);
    t.is(body.posts.map((one: { body: string }) => one.body).join(''), expected, query);
    t.is(body.has_more, more, query);
    t.deepEqual(body.totals, totals, query);
  }
});

test('a channel or a network narrows posts, their channels and all sums', async (t) => {
  const { bluesky, look, names } = await world(t);
  for (const query of [`channel_id=${bluesky}`, 'platform=bluesky']) {
    t.is(await names(query), 'dba', query);
    const { posts, totals } = await look(`${range}&${query}`);
    t.like(totals, { posts: 3, impressions: 50, likes: 7, comments: 0 }, query);
    t.is(posts[2].channels.length, 1, query);
    t.deepEqual(posts[2].channels[0].metrics, { likes: 1 }, query);
    t.like(posts[2].totals, { impressions: null, likes: 1 }, query);
  }

  t.is(await names('platform=youtube'), '');
  t.is(await names(`platform=mastodon&channel_id=${bluesky}`), '');
});

test('one post is told of whenever it was published, with its own day as the range', async (t) => {
  const { ids, look } = await world(t);
  for (const dates of ['', '&from=2020-01-01&to=2020-01-02', '&from=2027-05-01&to=2027-01-01']) {
    const body = await look(`post_id=${ids['a']}${dates}`);
    t.is(body.posts[0].post_id, ids['a']);
    t.like(body, { from: '2027-01-10', to: '2027-01-10', has_more: false });
    t.like(body.totals, { posts: 1, likes: 2, comments: 9, engagement: 11 });
  }

  const behind = await look(`post_id=${ids['a']}&offset=1`);
  t.deepEqual([behind.posts, behind.totals.posts, behind.from], [[], 1, '2027-01-10']);
});

test('a post or channel of another workspace is found no more than one that does not exist', async (t) => {
  const { punctual, client, ids, mastodon, look } = await world(t);
  const other = await newClient(punctual);
  const theirs = await storeChannel(punctual, other.workspaceId);
  const today = new Date().toISOString();
  await storePublished(punctual, other.workspaceId, { at: today, on: [{ channelId: theirs }] });

  const ask = async (query: string) => {
    const { status, body } = await other.get(`/analytics?${query}`);
    return { status, ...body };
  };
  const unknown = crypto.randomUUID();
  const nothing = await ask(`post_id=${unknown}`);
  t.like(nothing, { status: 200, posts: [], totals: { posts: 0 } });
  t.deepEqual(await ask(`post_id=${ids['a']}`), nothing);
  t.deepEqual(
    await ask(`${range}&channel_id=${mastodon}`),
    await ask(`${range}&channel_id=${unknown}`),
  );
  t.is((await ask('')).totals.posts, 1);
  t.is((await look('')).totals.posts, 0);
  t.deepEqual((await client.get(`/analytics?channel_id=${theirs}`)).body.posts, []);
});
