import test from 'ava';
import { allRoutes } from '../../../api/app.ts';
import { createApiKey } from '../../../cli/admin/workspaces.ts';
import { scopes, type Scope } from '../../../domain/api-keys.ts';
import { clientFor, type Client, type Reply } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { storeChannel } from '../../support/seed.ts';

const api = sharedApi(test);

/** Another client of the same workspace, whose key has these rights. */
const keyWith = async (
  { workspaceId }: Client,
  rights: Parameters<typeof createApiKey>[2],
): Promise<Client> => {
  const key = await createApiKey(api.punctual.orm.em.fork(), workspaceId, rights);
  return clientFor(api.punctual.url, workspaceId, key);
};

const routes = allRoutes.filter(({ isForOperators }) => !isForOperators);

const send = (client: Client, method: string, path: string): Promise<Reply> => {
  const at = path.replaceAll(/\{\w+\}/gv, crypto.randomUUID());
  const calls = {
    get: () => client.get(at),
    post: () => client.post(at, {}),
    patch: () => client.patch(at, {}),
    delete: () => client.delete(at),
  };
  return calls[method as keyof typeof calls]();
};

test('only the calls about the key itself, and the limits of networks, need no scope', (t) => {
  const free = routes.filter(({ scope }) => scope === null).map(({ path }) => path);
  t.deepEqual(free.toSorted(), ['/me', '/networks', '/usage']);
  const used = new Set(routes.map(({ scope }) => scope));
  const unused = scopes.filter((scope) => !used.has(scope));
  t.deepEqual(unused, []);
});

for (const { method, path, scope } of routes) {
  test(`${method} ${path} ${scope === null ? 'works with any key' : `refuses a key without ${scope}, and no key that has it`}`, async (t) => {
    const client = await api.newClient();
    if (scope === null) {
      const reply = await send(await keyWith(client, { scopes: ['media'] }), method, path);
      t.is(reply.status, 200);
      return;
    }

    const others = scopes.filter((one) => one !== scope);
    const refused = await send(await keyWith(client, { scopes: others }), method, path);
    t.is(refused.status, 403);
    t.is(refused.body.code, 'scope_missing');
    t.true(refused.body.error.includes(scope));
    t.is(refused.body.details[0].scope, scope);

    const accepted = await send(await keyWith(client, { scopes: [scope] }), method, path);
    t.not(accepted.body.code, 'scope_missing');
    t.true(accepted.status < 500);
  });
}

test('a key for drafts cannot make a post go out, nor change one that will', async (t) => {
  const all = await api.newClient();
  const channel = await storeChannel(api.punctual, all.workspaceId);
  const drafts = await keyWith(all, { scopes: ['posts:read', 'posts:write'] });
  const draft = { body: 'x', channel_ids: [channel] };
  const soon = { schedule_in_minutes: 60 };
  const at = new Date(Date.now() + 3_600_000).toISOString();
  const made = await drafts.post('/posts', draft);
  t.is(made.status, 201);
  const { id } = made.body.post;
  const scheduled = (await all.post('/posts', { ...draft, ...soon })).body.post.id;

  for (const reply of [
    await drafts.post('/posts', { ...draft, ...soon }),
    await drafts.post('/posts', { ...draft, scheduled_at: at }),
    await drafts.patch(`/posts/${id}`, soon),
    await drafts.patch(`/posts/${id}`, { scheduled_at: at }),
    await drafts.patch(`/posts/${scheduled}`, { body: 'Another text' }),
    await drafts.post(`/posts/${id}/retry`),
    await drafts.post(`/channels/${channel}/reconnect`, { retry_posts: true }),
    await (
      await keyWith(all, { scopes: ['channels'] })
    ).post(`/channels/${channel}/reconnect`, { retry_posts: true }),
  ]) {
    t.is(reply.body.code, 'scope_missing', JSON.stringify(reply.body));
  }

  const { error } = (await drafts.post('/posts', { ...draft, ...soon })).body;
  t.regex(error, /A post with a time needs it; without a time the post is a draft/v);
  t.is((await drafts.get(`/posts/${scheduled}`)).body.post.body, 'x');
  t.is((await drafts.patch(`/posts/${id}`, { body: 'y', scheduled_at: null })).status, 200);
  t.is((await drafts.patch(`/posts/${scheduled}`, { scheduled_at: null })).status, 200);
  t.is((await drafts.patch(`/posts/${scheduled}`, { body: 'Now a draft' })).status, 200);
});

const withoutWebhooks: readonly Scope[] = scopes.filter((scope) => scope !== 'webhooks');

type Things = Readonly<
  Record<'mine' | 'other' | 'own' | 'both' | 'theirs' | 'none' | 'free' | 'file', string>
>;

/** Calls by a key for the channel `mine`, each with its status or error code. The posts are named by their channels. */
function restricted(
  one: Client,
  { mine, other, own, both, theirs, none, free, file }: Things,
): (readonly [() => Promise<Reply>, number | string])[] {
  const on = (...ids: string[]) => ({ body: 'x', channel_ids: ids });
  const options = { options: { visibility: 'unlisted' } };
  return [
    [() => one.get(`/posts/${own}`), 200],
    [() => one.get(`/posts/${both}`), 200],
    [() => one.get(`/posts/${theirs}`), 'not_found'],
    [() => one.get(`/posts/${none}`), 'not_found'],
    [() => one.get(`/analytics/${own}/history`), 200],
    [() => one.get(`/analytics/${theirs}/history`), 'not_found'],
    [() => one.get(`/analytics?channel_id=${mine}&post_id=${own}`), 200],
    [() => one.get(`/analytics?channel_id=${mine}&post_id=${theirs}`), 'not_found'],
    [() => one.get(`/analytics?channel_id=${mine}&post_id=${none}`), 'not_found'],
    [() => one.post('/analytics/refresh', { post_id: theirs }), 'not_found'],
    [() => one.post('/posts', on(mine)), 201],
    [() => one.post('/posts', on(mine, other)), 'invalid_channel_ids'],
    [() => one.post('/posts', on(other)), 'invalid_channel_ids'],
    [() => one.post('/posts', on()), 'no_channels'],
    [
      () => one.post('/posts', { ...on(mine), channel_bodies: { [other]: 'y' } }),
      'invalid_channel_ids',
    ],
    [() => one.post('/posts/validate', on(mine)), 200],
    [() => one.post('/posts/validate', on(other)), 'invalid_channel_ids'],
    [() => one.patch(`/posts/${own}`, { body: 'y' }), 200],
    [() => one.patch(`/posts/${own}`, { channel_ids: [mine, other] }), 'invalid_channel_ids'],
    [() => one.patch(`/posts/${own}`, { channel_ids: [] }), 'no_channels'],
    [() => one.patch(`/posts/${both}`, { body: 'y' }), 'channel_not_allowed'],
    [() => one.patch(`/posts/${both}`, { channel_ids: [mine] }), 'channel_not_allowed'],
    [() => one.post(`/posts/${both}/cancel`), 'channel_not_allowed'],
    [() => one.post(`/posts/${theirs}/cancel`), 'not_found'],
    [() => one.post(`/posts/${none}/retry`), 'not_found'],
    [() => one.get(`/channels/${mine}`), 200],
    [() => one.get(`/channels/${other}`), 'not_found'],
    [() => one.patch(`/channels/${mine}`, options), 200],
    [() => one.patch(`/channels/${other}`, options), 'not_found'],
    [() => one.delete(`/channels/${other}`), 'not_found'],
    [() => one.post(`/channels/${other}/reconnect`, {}), 'not_found'],
    [() => one.post('/channels/connect', { platform: 'mastodon' }), 'channel_not_allowed'],
    [
      () => one.post('/channels/connect', { platform: 'mastodon', channel_id: other }),
      'invalid_channel_ids',
    ],
    [() => one.get(`/networks?channel_id=${mine}`), 200],
    [() => one.get(`/networks?channel_id=${other}`), 'invalid_channel_ids'],
    [() => one.get(`/analytics?channel_id=${mine}`), 200],
    [() => one.get(`/analytics?channel_id=${other}`), 'invalid_request'],
    [() => one.get('/analytics'), 'invalid_request'],
    [() => one.get('/analytics/best-times'), 'invalid_request'],
    [() => one.get('/webhooks'), 'scope_missing'],
    [() => one.get('/audit'), 'channel_not_allowed'],
    [() => one.patch(`/media/${free}`, { alt_text: 'A cat.' }), 200],
    [() => one.patch(`/media/${file}`, { alt_text: 'A dog.' }), 'media_in_use'],
  ];
}

test('a key for one channel sees and uses that channel and its posts only', async (t) => {
  const all = await api.newClient();
  const [mine, other] = [
    await storeChannel(api.punctual, all.workspaceId),
    await storeChannel(api.punctual, all.workspaceId),
  ];
  const one = await keyWith(all, { channelIds: [mine], scopes: withoutWebhooks });
  const postOn = async (...ids: string[]): Promise<string> =>
    (await all.post('/posts', { body: 'x', channel_ids: ids })).body.post.id;
  const [own, both, theirs, none] = [
    await postOn(mine),
    await postOn(mine, other),
    await postOn(other),
    await postOn(),
  ];
  const [free, file] = [
    await storeMedia(api.punctual, all.workspaceId),
    await storeMedia(api.punctual, all.workspaceId),
  ];
  const labelled = { body: 'x', channel_ids: [other], media_ids: [file], external_id: 'album' };
  const waiting = await all.post('/posts', { ...labelled, schedule_in_minutes: 600 });
  t.is(waiting.status, 201);
  for (const path of ['/posts/validate', '/posts']) {
    const { body } = await one.post(path, { body: 'y', channel_ids: [mine], external_id: 'album' });
    t.is(body.code, 'external_id_taken');
    t.false(JSON.stringify(body).includes(waiting.body.post.id), path);
  }

  const names = async (client: Client): Promise<string[]> =>
    (await client.get('/keys')).body.keys.map(({ last_four: last }: { last_four: string }) => last);
  t.deepEqual(await names(one), [one.key.slice(-4)]);
  t.is((await names(all)).length, 2);
  const things = { mine, other, own, both, theirs, none, free, file };
  for (const [index, [call, wanted]] of restricted(one, things).entries()) {
    const { status, body } = await call();
    const got = typeof wanted === 'number' ? status : body.code;
    t.is(got, wanted, `case ${index}: ${JSON.stringify(body)}`);
  }

  const ids = (listed: { id: string }[]) => listed.map(({ id }) => id);
  t.deepEqual(ids((await one.get('/channels')).body.channels), [mine]);
  const posts = ids((await one.get('/posts')).body.posts);
  t.true(posts.includes(own) && posts.includes(both));
  t.false(posts.includes(theirs) || posts.includes(none));
  const { channels } = (await one.get('/analytics/channels')).body;
  t.deepEqual(
    channels.map((row: { channel_id: string }) => row.channel_id),
    [mine],
  );
  t.is((await all.get(`/posts/${both}`)).body.post.body, 'x');
});

test('an error names a key no post that is on none of its channels', async (t) => {
  const all = await api.newClient();
  const [mine, other] = [
    await storeChannel(api.punctual, all.workspaceId),
    await storeChannel(api.punctual, all.workspaceId),
  ];
  const one = await keyWith(all, { channelIds: [mine], scopes: ['posts:write', 'media'] });
  const file = await storeMedia(api.punctual, all.workspaceId);
  const post = { body: 'x', channel_ids: [other], media_ids: [file] };
  const scheduled = { ...post, schedule_in_minutes: 60, idempotency_key: 'first' };
  const { id } = (await all.post('/posts', scheduled)).body.post;
  const again = { body: 'y', channel_ids: [mine], idempotency_key: 'first' };

  const named = await all.post('/posts', again);
  t.true(named.body.error.includes(id));
  const reused = await one.post('/posts', again);
  t.is(reused.body.code, 'idempotency_key_reused');
  t.false(reused.body.error.includes(id));
  const inUse = await one.delete(`/media/${file}`);
  t.is(inUse.body.code, 'media_in_use');
  t.false(inUse.body.error.includes(id));
});

test('a key cannot remove a file from a post that it cannot change', async (t) => {
  const all = await api.newClient();
  const [mine, other] = [
    await storeChannel(api.punctual, all.workspaceId),
    await storeChannel(api.punctual, all.workspaceId),
  ];
  const one = await keyWith(all, { channelIds: [mine], scopes: ['media'] });
  for (const [channel_ids, status] of [
    [[], 409],
    [[other], 409],
    [[mine, other], 409],
    [[mine], 200],
  ] as const) {
    const file = await storeMedia(api.punctual, all.workspaceId);
    await all.post('/posts', { body: 'x', channel_ids, media_ids: [file] });
    const reply = await one.delete(`/media/${file}`);
    t.is(reply.status, status, JSON.stringify([channel_ids, reply.body]));
  }
});

test('a repeated call shows a key no post that is on none of its channels by now', async (t) => {
  const all = await api.newClient();
  const [mine, other] = [
    await storeChannel(api.punctual, all.workspaceId),
    await storeChannel(api.punctual, all.workspaceId),
  ];
  const one = await keyWith(all, { channelIds: [mine], scopes: ['posts:write'] });
  const create = () =>
    one.post('/posts', { body: 'x', channel_ids: [mine], idempotency_key: 'first' });
  const source: string = (await create()).body.post.id;
  const copy = () => one.post(`/posts/${source}/copy`, {}, { 'idempotency-key': 'second' });
  const copied: string = (await copy()).body.post.id;
  t.is((await create()).body.post.id, source);
  t.is((await copy()).body.post.id, copied);

  for (const id of [copied, source]) {
    const secret = { body: 'secret', channel_ids: [other] };
    t.is((await all.patch(`/posts/${id}`, secret)).status, 200);
  }

  t.is((await create()).body.code, 'not_found');
  t.is((await all.patch(`/posts/${source}`, { channel_ids: [mine] })).status, 200);
  t.is((await copy()).body.code, 'not_found');
});
