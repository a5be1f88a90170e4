import test from 'ava';
import { purgeExpired } from '../../activities/sweep/sweep.ts';
import { allRoutes } from '../../api/app.ts';
import { adminOf } from '../cli/admin/admin.ts';
import { accountNamed, pretendOauth } from '../support/pretend-oauth.ts';
import { sharedApi } from '../support/kit.ts';
import { picture } from '../support/media-files.ts';
import { poll } from '../support/poll.ts';
import { storeChannel } from '../support/seed.ts';
import { openBrowser } from './connect/person.ts';
import { linkFor, walk } from './connect/world.ts';
import { ownedBy, silentPort, type Owned } from './owned.ts';

const fake = pretendOauth();
const connecting = { oauth: { fake: fake.entry } };
const api = sharedApi(test, { allowPorts: [silentPort], connecting });

type Case = {
  /** The path after the id's place was filled in. */
  readonly path: (mine: Owned) => string;
  readonly body?: (mine: Owned) => object | FormData;
  /** The actions that the call leaves in the log, newest first. */
  readonly actions: readonly string[];
};

const at = (
  path: Case['path'],
  actions: readonly string[],
  body?: NonNullable<Case['body']>,
): Case => ({ path, actions, ...(body ? { body } : {}) });

const hook = { url: `http://127.0.0.1:${silentPort}/new`, events: ['post.failed'] };

/** Every call that is not a GET. A call that changes nothing that belongs to the workspace leaves no entry. */
const cases: Readonly<Record<string, Case>> = {
  'post /posts': at(
    () => '/posts',
    ['post.created'],
    () => ({ body: 'secret text' }),
  ),
  'post /posts/validate': at(
    () => '/posts/validate',
    [],
    () => ({ body: 'x' }),
  ),
  'patch /posts/{id}': at(
    ({ draft }) => `/posts/${draft}`,
    ['post.edited'],
    () => ({ body: 'y' }),
  ),
  'post /posts/{id}/cancel': at(
    ({ scheduled }) => `/posts/${scheduled}/cancel`,
    ['post.cancelled'],
  ),
  'post /posts/{id}/retry': at(({ failed }) => `/posts/${failed}/retry`, ['post.retried']),
  'post /posts/{id}/settle': at(
    ({ unconfirmed }) => `/posts/${unconfirmed}/settle`,
    ['post.settled'],
    ({ channel }) => ({ channel_id: channel, url: 'https://social.test/@ana/1' }),
  ),
  'post /posts/{id}/copy': at(({ failed }) => `/posts/${failed}/copy`, ['post.created']),
  'delete /posts/{id}': at(({ draft }) => `/posts/${draft}`, ['post.deleted']),
  'post /posts/{id}/unpublish': at(
    ({ published }) => `/posts/${published}/unpublish`,
    ['post.unpublished'],
    () => ({}),
  ),
  'post /keys': at(
    () => '/keys',
    ['key.created'],
    () => ({ name: 'Reader', scopes: ['posts:read'] }),
  ),
  'patch /keys/{id}': at(
    ({ key }) => `/keys/${key}`,
    ['key.edited'],
    () => ({ name: 'New' }),
  ),
  'delete /keys/{id}': at(({ key }) => `/keys/${key}`, ['key.revoked']),
  'post /media': at(() => '/media', ['media.uploaded']),
  'patch /media/{id}': at(
    ({ media }) => `/media/${media}`,
    ['media.edited'],
    () => ({ name: 'z' }),
  ),
  'delete /media/{id}': at(({ media }) => `/media/${media}`, ['media.deleted']),
  'post /channels/connect': at(
    () => '/channels/connect',
    ['connect_link.created'],
    () => ({ platform: 'fake' }),
  ),
  'patch /channels/{id}': at(
    ({ channel }) => `/channels/${channel}`,
    ['channel.edited'],
    () => ({ options: null }),
  ),
  'delete /channels/{id}': at(({ channel }) => `/channels/${channel}`, ['channel.disconnected']),
  'post /channels/{id}/check': at(({ channel }) => `/channels/${channel}/check`, []),
  'post /channels/{id}/reconnect': at(
    ({ channel }) => `/channels/${channel}/reconnect`,
    [],
    () => ({ retry_posts: true }),
  ),
  'post /analytics/refresh': at(
    () => '/analytics/refresh',
    [],
    ({ failed }) => ({ post_id: failed }),
  ),
  'post /webhooks': at(
    () => '/webhooks',
    ['webhook.created'],
    () => hook,
  ),
  'patch /webhooks/{id}': at(
    ({ webhook }) => `/webhooks/${webhook}`,
    ['webhook.edited'],
    () => ({ description: 'New' }),
  ),
  'delete /webhooks/{id}': at(({ webhook }) => `/webhooks/${webhook}`, ['webhook.deleted']),
  'post /webhooks/{id}/test': at(({ webhook }) => `/webhooks/${webhook}/test`, ['webhook.tested']),
  'post /webhooks/{id}/rotate': at(
    ({ webhook }) => `/webhooks/${webhook}/rotate`,
    ['webhook.rotated'],
  ),
  'post /webhooks/{id}/replay': at(
    ({ webhook }) => `/webhooks/${webhook}/replay?since=2020-01-01T00:00:00Z`,
    ['webhook.replayed'],
  ),
  'post /webhooks/{id}/deliveries/{delivery}/replay': at(
    ({ webhook, delivery }) => `/webhooks/${webhook}/deliveries/${delivery}/replay`,
    ['delivery.replayed'],
  ),
};

test('the cases cover every call of a workspace that may change something', (t) => {
  const calls = allRoutes
    .filter(({ method, isForOperators }) => method !== 'get' && !isForOperators)
    .map(({ method, path }) => `${method} ${path}`);
  const all = [...Object.keys(cases), 'post /media/import']; // test/api/media/import.test.ts
  t.deepEqual(all.toSorted(), calls.toSorted());
});

for (const [call, { path, body, actions }] of Object.entries(cases)) {
  test(`${call} leaves ${actions.join(', ') || 'nothing'} in the audit log`, async (t) => {
    const mine = await ownedBy(api.punctual);
    const { key } = mine.client;
    const requestId = crypto.randomUUID();
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(await picture('png'))]), 'a.png');
    const sent = call === 'post /media' ? form : JSON.stringify(body?.(mine));
    const answer = await fetch(`${api.punctual.url}/api/v1${path(mine)}`, {
      method: call.split(' ')[0]?.toUpperCase() ?? '',
      headers: {
        authorization: `Bearer ${key}`,
        'x-request-id': requestId,
        ...(typeof sent === 'string' ? { 'content-type': 'application/json' } : {}),
      },
      ...(sent === undefined ? {} : { body: sent }),
    });
    t.true(answer.ok, await answer.text());
    t.is(answer.headers.get('x-request-id'), requestId);

    const { entries } = (await mine.client.get('/audit')).body;
    const own = entries.filter((entry: Entry) => entry.request_id === requestId);
    t.deepEqual(
      own.map(({ action }: Entry) => action),
      actions,
    );
    const [{ id: keyId }] = await api.punctual.orm.em
      .fork()
      .execute<[{ id: string }]>('select id from api_keys where last_four = ?', [key.slice(-4)]);
    for (const { actor, address, object_id: objectId } of own as Entry[]) {
      t.deepEqual(actor, { type: 'key', id: keyId, last_four: key.slice(-4) });
      t.is(address, '127.0.0.1');
      const isNew = call === 'post /posts/{id}/copy' || !path(mine).includes('-');
      t.true(isNew || path(mine).includes(objectId), objectId);
    }

    t.false(JSON.stringify(entries).includes('secret text'));
  });
}

type Entry = {
  readonly action: string;
  readonly actor: object;
  readonly address: string;
  readonly object_id: string;
  readonly request_id: string | null;
};

test('a refused call leaves nothing, and a repeated one with an idempotency key one entry', async (t) => {
  const client = await api.newClient();
  await client.post('/posts', { body: ' ' });
  await client.post('/posts', { body: 'x', channel_ids: [crypto.randomUUID()] });
  for (const _ of [1, 2]) {
    await client.post('/posts', { body: 'x', idempotency_key: 'k' });
  }

  t.is((await client.get('/audit')).body.entries.length, 1);
});

test('an account that a person connects with a link is recorded with the link, and commands with the operator', async (t) => {
  const { punctual } = api;
  const client = await api.newClient();
  const code = crypto.randomUUID();
  fake.codes.set(code, [accountNamed('@ana', crypto.randomUUID())]);
  await walk(openBrowser(punctual.url), await linkFor(client), code);
  const [{ id }] = (await client.get('/channels')).body.channels;
  await adminOf(punctual).call('channel', 'remove', id);

  const [removed, connected, linked] = (await client.get('/audit')).body.entries;
  t.like(connected, {
    action: 'channel.connected',
    object_id: id,
    actor: { type: 'connect_link', id: linked.object_id, last_four: null },
  });
  t.truthy(connected.request_id);
  t.like(removed, {
    action: 'channel.disconnected',
    actor: { type: 'operator', id: null, last_four: null },
    request_id: null,
    address: null,
  });
});

test('the log is filtered by action, object and time, and read in pages', async (t) => {
  const client = await api.newClient();
  const ids: string[] = [];
  for (const body of ['a', 'b', 'c']) {
    ids.push((await client.post('/posts', { body })).body.post.id);
  }

  await client.patch(`/posts/${ids[0]}`, { body: 'd' });
  const read = async (query: string): Promise<Entry[]> =>
    (await client.get(`/audit?${query}`)).body.entries;
  const all = (await client.get('/audit')).body.entries as (Entry & { readonly at: string })[];
  t.deepEqual(
    all.map(({ object_id: id }) => id),
    [ids[0], ids[2], ids[1], ids[0]],
  );
  t.is((await read('action=post.created')).length, 3);
  t.is((await read(`object_id=${ids[0]}`)).length, 2);
  t.is((await read(`object_id=${ids[0]}&action=post.edited`)).length, 1);
  const edited = encodeURIComponent(all[0]?.at ?? '');
  t.true((await read(`from=${edited}`)).length < 4);
  t.false((await read(`to=${edited}`)).some(({ action }) => action === 'post.edited'));
  t.is((await client.get('/audit?from=yesterday')).status, 400);
  t.is((await client.get('/audit?action=post.read')).status, 400);

  const paged: Entry[] = [];
  for (let cursor = ''; ;) {
    const page = (await client.get(`/audit?limit=3${cursor}`)).body;
    paged.push(...page.entries);
    if (page.next_cursor === null) {
      break;
    }

    cursor = `&cursor=${page.next_cursor}`;
  }

  t.deepEqual(paged, all);
});

test('entries are purged after 400 days', async (t) => {
  const { punctual } = api;
  const client = await api.newClient();
  await client.post('/posts', { body: 'old' });
  await client.post('/posts', { body: 'older' });
  const { entries } = (await client.get('/audit')).body;
  const em = punctual.orm.em.fork();
  for (const [index, days] of [399, 401].entries()) {
    await em.execute('update audit_log set at = now() - make_interval(days => ?) where id = ?', [
      days,
      entries[index].id,
    ]);
  }

  await purgeExpired(punctual.deps);
  const left = (await client.get('/audit')).body.entries;
  t.deepEqual(
    left.map(({ id }: { id: string }) => id),
    [entries[0].id],
  );
});

test('the workflow of a post names the request that started it', async (t) => {
  const client = await api.newClient();
  const id = await storeChannel(api.punctual, client.workspaceId);
  const body = { body: 'x', channel_ids: [id], schedule_in_minutes: 600 };
  const made = await client.post('/posts', body, { 'x-request-id': 'from-the-caller.1' });
  const handle = api.punctual.temporal.client.workflow.getHandle(`post-${made.body.post.id}`);
  const started = await poll(
    () => handle.describe().catch(() => null),
    (found) => found !== null,
  );
  t.deepEqual(started?.memo, { requestId: 'from-the-caller.1' });
});
