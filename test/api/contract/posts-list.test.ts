import test, { type ExecutionContext } from 'ava';
import { postStatuses } from '../../../domain/post-status.ts';
import { newClient, type Client } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { storeChannel, setStatus } from '../../support/seed.ts';

type Listed = { readonly id: string; readonly status: string };

async function world(t: ExecutionContext) {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  return { punctual, client, channel: await storeChannel(punctual, client.workspaceId) };
}

const make = async (client: Client, body: object): Promise<string> =>
  (await client.post('/posts', body)).body.post.id;

const idsOf = (listed: readonly Listed[]): string[] => listed.map(({ id }) => id);

/** All pages of a list. */
async function pages(client: Client, query: string): Promise<Listed[][]> {
  const seen: Listed[][] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const on: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { body } = await client.get(`/posts?${query}${on}`);
    seen.push(body.posts);
    cursor = body.next_cursor;
  }

  return seen;
}

test('a workspace without posts has an empty list and no next page', async (t) => {
  const { client } = await world(t);
  t.deepEqual((await client.get('/posts')).body, { posts: [], next_cursor: null });
});

test('a listed post has its id, body, time, status and targets in their order', async (t) => {
  const { punctual, client, channel } = await world(t);
  const second = await storeChannel(punctual, client.workspaceId, { platform: 'bluesky' });
  const at = new Date(Date.now() + 3_600_000).toISOString();
  const post = { body: 'Listed', channel_ids: [second, channel], scheduled_at: at };
  const id = await make(client, post);
  await setStatus(punctual, id, 'publishing', ['published', 'retrying']);

  const { posts } = (await client.get('/posts')).body;

  t.is(posts.length, 1);
  t.like(posts[0], { id, body: 'Listed', scheduled_at: at, status: 'publishing' });
  t.deepEqual(posts[0].post_targets, [
    { channel_id: second, status: 'published' },
    { channel_id: channel, status: 'retrying' },
  ]);
});

test('posts come newest first by the time of their creation, whatever time they are for', async (t) => {
  const { client, channel } = await world(t);
  const made = [
    await make(client, { body: '1', channel_ids: [channel], schedule_in_minutes: 600 }),
    await make(client, { body: '2' }),
    await make(client, { body: '3', channel_ids: [channel], schedule_in_minutes: 5 }),
  ];
  const { posts } = (await client.get('/posts')).body;
  t.deepEqual(idsOf(posts), made.toReversed());
  await client.patch(`/posts/${made[0]}`, { body: 'edited' });
  t.deepEqual(idsOf((await client.get('/posts')).body.posts), made.toReversed());
});

test('asked for a status, the list has the posts of that status and no other', async (t) => {
  const { punctual, client, channel } = await world(t);
  const made: [string, string][] = [];
  for (const status of postStatuses) {
    const id = await make(client, { body: status, channel_ids: [channel] });
    await setStatus(punctual, id, status);
    made.push([status, id]);
  }

  for (const [status, id] of made) {
    const { posts } = (await client.get(`/posts?status=${status}`)).body;
    t.deepEqual(idsOf(posts), [id]);
    t.is(posts[0].status, status);
  }
});

test('a list has up to 100 posts, and a cursor to the rest', async (t) => {
  const { client } = await world(t);
  const made: string[] = [];
  for (let n = 0; n < 103; n += 1) {
    made.push(await make(client, { body: String(n) }));
  }

  const [first, second, ...none] = await pages(client, '');
  t.is(first?.length, 100);
  t.is(second?.length, 3);
  t.deepEqual(none, []);
  t.deepEqual(idsOf([...(first ?? []), ...(second ?? [])]), made.toReversed());
  t.is((await client.get('/posts?limit=100')).body.posts.length, 100);
});

test('page by page every post is seen once, also those of one instant and those that come meanwhile', async (t) => {
  const { punctual, client } = await world(t);
  const made: string[] = [];
  for (let n = 0; n < 7; n += 1) {
    made.push(await make(client, { body: String(n) }));
  }

  const em = punctual.orm.em.fork();
  await em.execute(`update posts set created_at = '2026-05-01T10:00:00.123Z'`);
  for (const limit of [1, 2, 3, 7, 50]) {
    const seen = (await pages(client, `limit=${limit}&status=draft`)).flat();
    t.deepEqual(idsOf(seen).toSorted(), made.toSorted(), `limit ${limit}`);
  }

  const first = (await client.get('/posts?limit=4')).body;
  await make(client, { body: 'newer' });
  const rest = (await client.get(`/posts?cursor=${first.next_cursor}`)).body;
  t.deepEqual(idsOf([...first.posts, ...rest.posts]).toSorted(), made.toSorted());
});
