import test, { type ExecutionContext } from 'ava';
import type { Client, Reply } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { storeChannel } from '../../support/seed.ts';
import { storedRows, type RowCounts } from '../../support/stored-rows.ts';

/** Offset of the API's clock. Only one test changes it, and the others do not depend on it. */
let aheadMs = 0;
const api = sharedApi(test, { now: () => new Date(Date.now() + aheadMs) });

/** A workspace with a channel. */
async function workspace() {
  const client = await api.newClient();
  const { workspaceId } = client;
  const channel = await storeChannel(api.punctual, workspaceId);
  const rows = (): Promise<RowCounts> => storedRows(api.punctual.orm, workspaceId);
  const setPlan = (plan: string | null): Promise<unknown> =>
    api.punctual.orm.em
      .fork()
      .execute('update workspaces set plan = ? where id = ?', [plan, workspaceId]);
  return { client, channel, rows, setPlan };
}

const withKey = (client: Client, key: string, body: unknown): Promise<Reply> =>
  client.post('/posts', body, { 'idempotency-key': key });

function mustReplay(t: ExecutionContext, first: Reply, second: Reply, what: string): void {
  t.is(first.status, 201, what);
  t.is(first.headers.get('idempotency-replayed'), null, what);
  t.is(second.status, 200, what);
  t.is(second.headers.get('idempotency-replayed'), 'true', what);
  t.deepEqual(second.body, first.body, what);
}

test('the same request with the same key returns the first post, however it is formatted', async (t) => {
  const { client, channel, rows } = await workspace();
  const video = { title: 'a', privacy: 'public' };
  const first = await withKey(client, 'k', {
    body: 'Once',
    channel_ids: [channel],
    schedule_in_minutes: 60,
    video,
  });
  const reordered = {
    schedule_in_minutes: 60.0,
    video: { privacy: 'public', title: 'a' },
    channel_ids: [channel],
    body: 'Once',
  };
  mustReplay(t, first, await withKey(client, 'k', reordered), 'reordered');
  const inBody = await client.post('/posts', { idempotency_key: 'k', ...reordered });
  mustReplay(t, first, inBody, 'key in the body');
  const inBoth = await withKey(client, 'k', { ...reordered, idempotency_key: 'k' });
  mustReplay(t, first, inBoth, 'key in both');
  t.like(await rows(), { posts: 1, post_channels: 1, idempotency_keys: 1 });
});

test('a key beyond ASCII is the same in the header, as UTF-8, and in the body', async (t) => {
  const { client, rows } = await workspace();
  for (const [n, key] of ['Grüße', 'заказ-1', '注文 🎉'].entries()) {
    const asHeader = Buffer.from(key).toString('latin1'); // `fetch` and Node write one byte per character.
    const first = await withKey(client, asHeader, { body: 'Once' });
    const inBody = await client.post('/posts', { idempotency_key: key, body: 'Once' });
    mustReplay(t, first, inBody, key);
    const inBoth = await withKey(client, asHeader, { idempotency_key: key, body: 'Once' });
    mustReplay(t, first, inBoth, `${key} in both`);
    t.is((await rows()).posts, n + 1);
  }

  // A client that sends Latin-1 also gets the same post again.
  const latin = await withKey(client, 'caf\u00e9', { body: 'Once' });
  mustReplay(t, latin, await withKey(client, 'caf\u00e9', { body: 'Once' }), 'Latin-1');
});

test('a repeated request shows the current post', async (t) => {
  const { client, channel } = await workspace();
  const post = { body: 'x', channel_ids: [channel] };
  const first = await withKey(client, 'k', post);
  const { id } = first.body.post;
  const em = api.punctual.orm.em.fork();
  await em.execute(`update posts set status = 'failed' where id = ?`, [id]);
  await em.execute(`update post_channels set status = 'failed', error = 'No.' where post_id = ?`, [
    id,
  ]);

  const second = await withKey(client, 'k', post);

  t.is(second.status, 200);
  t.like(second.body.post, { id, status: 'failed', summary: { failed: 1 } });
});

test('a repeated request is answered even if its time has passed or the plan has ended', async (t) => {
  const { client, channel, setPlan } = await workspace();
  const at = new Date(Date.now() + aheadMs).toISOString();
  const post = { body: 'x', channel_ids: [channel], scheduled_at: at };
  const first = await withKey(client, 'k', post);
  t.is(first.status, 201);
  aheadMs += 6 * 60_000;
  await setPlan(null);

  mustReplay(t, first, await withKey(client, 'k', post), 'later');
  await setPlan('standard');
  const late = await withKey(client, 'another', post);
  t.is(late.body.code, 'invalid_scheduled_at');
});

test('the same key with another request is refused and names the first post', async (t) => {
  const { client, channel, rows } = await workspace();
  const first = await withKey(client, 'k', { body: 'One', channel_ids: [channel] });
  const others = [
    { body: 'Two', channel_ids: [channel] },
    { body: 'One' },
    { body: 'One', channel_ids: [channel], schedule_in_minutes: 5 },
    { thread: ['One'], channel_ids: [channel] },
    { body: 'One', channel_ids: [channel], video: {} },
  ];
  for (const other of others) {
    const reply = await withKey(client, 'k', other);
    t.is(reply.status, 400, JSON.stringify(other));
    t.is(reply.body.code, 'idempotency_key_reused');
    t.true(reply.body.error.includes(first.body.post.id), reply.body.error);
  }

  t.like(await rows(), { posts: 1, idempotency_keys: 1 });
});

test('20 concurrent requests with one key create one post, in each of 5 rounds', async (t) => {
  const { client, channel, rows } = await workspace();
  const post = { body: 'Once', channel_ids: [channel], schedule_in_minutes: 60 };
  for (let round = 1; round <= 5; round += 1) {
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => withKey(client, `round ${round}`, post)),
    );
    const statuses = replies.map(({ status }) => status).toSorted((a, b) => a - b);
    t.deepEqual(statuses, [...Array.from({ length: 19 }, () => 200), 201]);
    t.is(new Set(replies.map(({ body }) => body.post.id)).size, 1);
    const expected = { posts: round, post_channels: round, idempotency_keys: round };
    t.like(await rows(), expected);
  }
});

test('of different concurrent requests with one key one is stored, and the others are refused', async (t) => {
  const { client, rows } = await workspace();
  for (let round = 1; round <= 5; round += 1) {
    const replies = await Promise.all(
      Array.from({ length: 6 }, (_, n) => withKey(client, `round ${round}`, { body: `text ${n}` })),
    );
    const [made, ...others] = replies.toSorted((a, b) => a.status - b.status);
    t.is(made?.status, 201);
    t.true(others.every(({ body }) => body.code === 'idempotency_key_reused'));
    t.true(others.every(({ body }) => body.error.includes(made?.body.post.id)));
    t.is((await rows()).posts, round);
  }
});

test('a refused request leaves its key free', async (t) => {
  const { client, channel, rows } = await workspace();
  const refused = [
    { body: ' ' },
    { body: 'x', unknown: 1 },
    { body: 'x', channel_ids: [crypto.randomUUID()] },
    { body: 'x', scheduled_at: '2020-01-01T00:00:00Z' },
    { body: 'x', schedule_in_minutes: 1 },
    { body: 'x'.repeat(501), channel_ids: [channel], schedule_in_minutes: 1 },
  ];
  for (const post of refused) {
    t.is((await withKey(client, 'k', post)).status, 400);
  }

  t.is((await rows()).idempotency_keys, 0);
  const post = { body: 'x', channel_ids: [channel] };
  mustReplay(t, await withKey(client, 'k', post), await withKey(client, 'k', post), 'then');
});

test('for 24 hours the key of a deleted post creates no other post', async (t) => {
  const { client, rows } = await workspace();
  const create = () => withKey(client, 'k', { body: 'Once' });
  const { id } = (await create()).body.post;
  await client.delete(`/posts/${id}`);
  const repeated = await create();
  t.is(repeated.status, 409);
  t.is(repeated.body.code, 'post_deleted');
  t.true(repeated.body.error.includes(id));
  t.is((await rows()).posts, 0);

  const em = api.punctual.orm.em.fork();
  const age = `update idempotency_keys set expires_at = expires_at - interval '24 h' where post_id = ?`;
  await em.execute(age, [id]);
  const [again, replayed] = [await create(), await create()];
  mustReplay(t, again, replayed, 'a day later');
  t.not(again.body.post.id, id);
});
