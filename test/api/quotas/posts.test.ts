import test, { type ExecutionContext } from 'ava';
import { cancelPost } from '../../../services/posts/cancel-post.ts';
import type { QuotaName } from '../../../domain/quotas.ts';
import type { Client, Reply } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { setStatus } from '../../support/seed.ts';
import { storedRows } from '../../support/stored-rows.ts';
import { draftOf, isFull, limit, limited, tally } from './limited.ts';

const api = sharedApi(test);

const later = (channel: string, body = 'Later') => ({
  body,
  channel_ids: [channel],
  schedule_in_minutes: 60,
});

type World = { readonly client: Client; readonly channel: string };

/** The amount of each quota that a post takes. */
const takers: readonly {
  readonly quota: QuotaName & ('scheduled' | 'drafts' | 'text_bytes');
  /** Per post. */
  readonly each: number;
  readonly post: (world: World) => object;
}[] = [
  { quota: 'scheduled', each: 1, post: ({ channel }) => later(channel) },
  { quota: 'drafts', each: 1, post: () => draftOf(5) },
  { quota: 'text_bytes', each: 100, post: () => draftOf(100) },
  {
    quota: 'text_bytes',
    each: 12,
    // Counted in bytes, of the thread and of the channel's own text.
    post: ({ channel }) => ({
      thread: ['ä', 'öü'],
      channel_ids: [channel],
      channel_bodies: { [channel]: '🙂🙃'.slice(0, 4).slice(0, 2) + 'ab' },
    }),
  },
];

for (const [index, { quota, each, post }] of takers.entries()) {
  const of = `${quota}, ${each} a post (${index + 1})`;

  test(`${of}: the post that fills the quota is accepted, and the next one is refused and not stored`, async (t) => {
    const world = await limited(api.punctual, { [quota]: 2 * each });
    t.is((await world.client.post('/posts', post(world))).status, 201);
    t.is((await world.client.post('/posts', post(world))).status, 201);
    for (let attempt = 0; attempt < 3; attempt += 1) {
      isFull(t, await world.client.post('/posts', post(world)), quota, 2 * each, 2 * each);
    }

    t.is((await world.client.get('/posts')).body.posts.length, 2);
  });

  test(`${of}: of 50 concurrent posts, each with a key, exactly one is accepted if there is quota for one`, async (t) => {
    const world = await limited(api.punctual, { [quota]: 11 * each });
    for (let made = 0; made < 10; made += 1) {
      t.is((await world.client.post('/posts', post(world))).status, 201);
    }

    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        world.client.post('/posts', post(world), { 'idempotency-key': `${n}` }),
      ),
    );

    t.deepEqual(tally(replies), { 201: 1, 402: 49 });
    const rows = await storedRows(api.punctual.orm, world.client.workspaceId);
    t.like(rows, { posts: 11, idempotency_keys: 1 });
  });

  test(`${of}: an accepted request is replayed when the quota is full, also concurrently`, async (t) => {
    const world = await limited(api.punctual, { [quota]: each });
    const same = post(world);
    const replies = await Promise.all(
      Array.from({ length: 20 }, () =>
        world.client.post('/posts', same, { 'idempotency-key': 'once' }),
      ),
    );

    t.deepEqual(tally(replies), { 200: 19, 201: 1 });
    t.is(new Set(replies.map(({ body }) => body.post.id)).size, 1);
    await limit(api.punctual, world.client, { [quota]: 0 });
    const again = await world.client.post('/posts', same, { 'idempotency-key': 'once' });
    t.is(again.status, 200);
    isFull(t, await world.client.post('/posts', same), quota, 0, each);
  });

  test(`${of}: a quota below the usage refuses new posts, and removes none`, async (t) => {
    const world = await limited(api.punctual, {});
    const { id } = (await world.client.post('/posts', post(world))).body.post;
    await world.client.post('/posts', post(world));
    await limit(api.punctual, world.client, { [quota]: each });

    isFull(t, await world.client.post('/posts', post(world)), quota, each, 2 * each);
    t.is((await world.client.get('/posts')).body.posts.length, 2);
    t.is((await world.client.patch(`/posts/${id}`, { video: null })).status, 200);
    await limit(api.punctual, world.client, { [quota]: 3 * each });
    t.is((await world.client.post('/posts', post(world))).status, 201);
  });
}

const idOf = ({ status, body }: Reply, t: ExecutionContext): string => {
  t.is(status, 201, JSON.stringify(body));
  return body.post.id;
};

test('scheduling a draft takes quota of scheduled posts: of 20 concurrent calls only as many succeed', async (t) => {
  const { client, channel } = await limited(api.punctual, { scheduled: 5 });
  const drafts = await Promise.all(
    Array.from({ length: 20 }, () => client.post('/posts', { body: 'x', channel_ids: [channel] })),
  );
  const ids = drafts.map((draft) => idOf(draft, t));
  const schedule = (id: string) => client.patch(`/posts/${id}`, { schedule_in_minutes: 60 });

  t.deepEqual(tally(await Promise.all(ids.map(schedule))), { 200: 5, 402: 15 });

  const [stillDraft] = (await client.get('/posts?status=draft')).body.posts;
  isFull(t, await schedule(stillDraft.id), 'scheduled', 5, 5);
  const [scheduled] = (await client.get('/posts?status=scheduled')).body.posts;
  t.is((await schedule(scheduled.id)).status, 200, 'a new time does not count as a new post');
});

test('a scheduled post that is edited to a draft takes quota of drafts; a cancel always succeeds', async (t) => {
  const { client, channel } = await limited(api.punctual, { drafts: 1 });
  const id = idOf(await client.post('/posts', later(channel)), t);
  idOf(await client.post('/posts', draftOf(1)), t);

  isFull(t, await client.patch(`/posts/${id}`, { scheduled_at: null }), 'drafts', 1, 1);
  t.is((await client.post(`/posts/${id}/cancel`)).status, 200);
  isFull(t, await client.post('/posts', draftOf(1)), 'drafts', 1, 2);
});

test('a published post frees its quota', async (t) => {
  const { client, channel } = await limited(api.punctual, { scheduled: 2 });
  const id = idOf(await client.post('/posts', later(channel)), t);
  idOf(await client.post('/posts', later(channel)), t);
  isFull(t, await client.post('/posts', later(channel)), 'scheduled', 2, 2);

  await setStatus(api.punctual, id, 'published', ['published']);
  idOf(await client.post('/posts', later(channel)), t);
  isFull(t, await client.post('/posts', later(channel)), 'scheduled', 2, 2);
});

test('a publishing post keeps its quota, so that cancels cannot create unlimited drafts', async (t) => {
  const { client, channel } = await limited(api.punctual, { scheduled: 2, drafts: 1 });
  for (let made = 0; made < 2; made += 1) {
    const id = idOf(await client.post('/posts', later(channel)), t);
    await setStatus(api.punctual, id, 'publishing', ['retrying']);
  }

  isFull(t, await client.post('/posts', later(channel)), 'scheduled', 2, 2);
  for (const { id } of (await client.get('/posts')).body.posts) {
    t.is((await client.post(`/posts/${id}/cancel`)).status, 200);
  }

  isFull(t, await client.post('/posts', draftOf(1)), 'drafts', 1, 2);
  idOf(await client.post('/posts', later(channel)), t);
  isFull(t, await client.post('/posts', later(channel)), 'scheduled', 2, 2);
});

test('a failed post can be retried and cancelled when the quotas are full, and counts as a draft', async (t) => {
  const { client, channel } = await limited(api.punctual, { scheduled: 1, drafts: 0 });
  const id = idOf(await client.post('/posts', later(channel)), t);
  await setStatus(api.punctual, id, 'failed', ['failed']);
  idOf(await client.post('/posts', later(channel)), t);

  t.is((await client.post(`/posts/${id}/retry`)).status, 202);
  t.is((await client.post(`/posts/${id}/cancel`)).status, 200);
  isFull(t, await client.post('/posts', draftOf(1)), 'drafts', 0, 1);
});

test('an edit that makes texts longer is checked against the quota, a shorter one never', async (t) => {
  const { client, channel } = await limited(api.punctual, { text_bytes: 1000 });
  const id = idOf(await client.post('/posts', { ...draftOf(600), channel_ids: [channel] }), t);
  const edit = (body: object) => client.patch(`/posts/${id}`, body);

  isFull(t, await edit({ body: 'x'.repeat(1001) }), 'text_bytes', 1000, 600);
  isFull(t, await edit({ thread: ['x'.repeat(300), 'x'.repeat(101)] }), 'text_bytes', 1000, 600);
  isFull(
    t,
    await edit({ channel_bodies: { [channel]: 'x'.repeat(401) } }),
    'text_bytes',
    1000,
    600,
  );
  t.is((await edit({ channel_bodies: { [channel]: 'x'.repeat(400) } })).status, 200);
  isFull(t, await edit({ thread: ['y'] }), 'text_bytes', 1000, 1000);
  t.is((await edit({ body: 'x'.repeat(400) })).status, 200);
  t.is((await edit({ thread: ['x'.repeat(200)] })).status, 200);
  isFull(t, await client.post('/posts', draftOf(1)), 'text_bytes', 1000, 1000);

  await limit(api.punctual, client, { text_bytes: 10 });
  t.is((await edit({ channel_ids: [], channel_bodies: null })).status, 200);
  isFull(t, await edit({ body: 'x'.repeat(401) }), 'text_bytes', 10, 600);
  t.is((await edit({ thread: null })).status, 200);
  isFull(t, await client.post('/posts', draftOf(1)), 'text_bytes', 10, 400);
});

test('of 20 concurrent edits with longer texts only as many succeed as the quota allows', async (t) => {
  const { client } = await limited(api.punctual, { text_bytes: 20 + 7 * 50 });
  const drafts = await Promise.all(
    Array.from({ length: 20 }, () => client.post('/posts', draftOf(1))),
  );
  const replies = await Promise.all(
    drafts.map((draft) => client.patch(`/posts/${idOf(draft, t)}`, draftOf(51))),
  );
  t.deepEqual(tally(replies), { 200: 7, 402: 13 });
});

test('concurrent posts, cancels and edits of one workspace do not deadlock', async (t) => {
  const { client, channel } = await limited(api.punctual, { scheduled: 40, drafts: 40 });
  const { deps } = api.punctual;
  const live = async (n: number): Promise<void> => {
    const { body } = await client.post('/posts', later(channel), { 'idempotency-key': `${n}` });
    const id: string | undefined = body.post?.id;
    if (id !== undefined) {
      await cancelPost(deps, { workspaceId: client.workspaceId, postId: id });
      const { status, body: edited } = await client.patch(`/posts/${id}`, {
        ...draftOf(n),
        schedule_in_minutes: 9,
      });
      t.true(status === 200 || status === 402, JSON.stringify(edited));
    }
  };
  await Promise.all(Array.from({ length: 50 }, (_, n) => live(n + 1)));
  const { posts } = (await client.get('/posts')).body;
  t.true(posts.length >= 40 && posts.length <= 50, String(posts.length));
});
