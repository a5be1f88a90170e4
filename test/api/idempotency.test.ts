import test, { type ExecutionContext } from 'ava';
import { purgeExpired } from '../../activities/sweep/sweep.ts';
import { createApiKey } from '../../cli/admin/workspaces.ts';
import { clientFor, newClient, type Client, type Reply } from '../support/client.ts';
import { picture } from '../support/media-files.ts';
import { upload } from '../support/media-library.ts';
import { storedRows } from '../support/stored-rows.ts';
import { connectWorld } from './connect/world.ts';
import { silentPort } from './owned.ts';
import { limit } from './quotas/limited.ts';

/** Offset of the API's clock. Only the last test changes it. */
let aheadMs = 0;
const now = (): Date => new Date(Date.now() + aheadMs);
const { api } = connectWorld(test, { allowPorts: [silentPort], now });

type Creating = {
  readonly call: string;
  readonly table: string;
  /** @param n Another request for each number. */
  readonly make: (client: Client, n: number, key: string) => Promise<Reply>;
};

const png = picture('png');

/** Every creating call other than `POST /posts`. */
const creating: readonly Creating[] = [
  {
    call: 'POST /webhooks',
    table: 'webhook_endpoints',
    make: (client, n, key) => {
      const url = `http://127.0.0.1:${silentPort}/${n}`;
      return client.post('/webhooks', { url, events: ['post.failed'] }, withKey(key));
    },
  },
  {
    call: 'POST /channels/connect',
    table: 'connect_links',
    make: (client, n, key) =>
      client.post('/channels/connect', { platform: n === 1 ? 'fake' : 'many' }, withKey(key)),
  },
  {
    call: 'POST /media',
    table: 'media_files',
    make: async (client, n, key) => {
      const file = { bytes: await png, fields: { alt_text: `Picture ${n}` } };
      return upload(api.punctual, client, { ...file, headers: withKey(key) });
    },
  },
  {
    call: 'POST /posts/{id}/copy',
    table: 'idempotency_keys',
    make: async (client, n, key) => {
      const { posts } = (await client.get('/posts?limit=100')).body;
      const source = posts.findLast((post: { body: string }) => post.body === `Source ${n}`);
      return client.post(`/posts/${source.id}/copy`, {}, withKey(key));
    },
  },
  {
    call: 'POST /keys',
    table: 'api_keys',
    make: (client, n, key) =>
      client.post('/keys', { name: `Key ${n}`, scopes: ['posts:read'] }, withKey(key)),
  },
];

const withKey = (key: string) => ({ 'idempotency-key': key });

async function workspace(): Promise<Client> {
  const client = await api.newClient();
  await client.post('/posts', { body: 'Source 1' });
  await client.post('/posts', { body: 'Source 2' });
  return client;
}

function mustReplay(t: ExecutionContext, first: Reply, second: Reply): void {
  t.is(first.status, 201, JSON.stringify(first.body));
  t.is(first.headers.get('idempotency-replayed'), null);
  t.is(second.status, 200, JSON.stringify(second.body));
  t.is(second.headers.get('idempotency-replayed'), 'true');
  t.deepEqual(second.body, first.body);
}

for (const { call, table, make } of creating) {
  test(`${call} with a key gives the first answer again, and refuses another request`, async (t) => {
    const client = await workspace();
    const before = (await storedRows(api.punctual.orm, client.workspaceId))[table] ?? 0;
    const first = await make(client, 1, 'k');
    mustReplay(t, first, await make(client, 1, 'k'));
    const other = await make(client, 2, 'k');
    t.is(other.status, 400, JSON.stringify(other.body));
    t.is(other.body.code, 'idempotency_key_reused');
    const post = await client.post('/posts', { body: 'x' }, withKey('k'));
    t.is(post.body.code, 'idempotency_key_reused', 'a key belongs to one call');
    t.is((await make(client, 1, 'another')).status, 201);
    const elsewhere = await make(await workspace(), 1, 'k');
    t.is(elsewhere.status, 201, 'keys of another workspace are independent');
    t.notDeepEqual(elsewhere.body, first.body);
    t.is((await storedRows(api.punctual.orm, client.workspaceId))[table], before + 2);
  });

  test(`10 concurrent ${call} with one key create one object`, async (t) => {
    const client = await workspace();
    const before = await storedRows(api.punctual.orm, client.workspaceId);
    const replies = await Promise.all(Array.from({ length: 10 }, () => make(client, 1, 'k')));
    const statuses = replies.map(({ status }) => status).toSorted((a, b) => a - b);
    t.deepEqual(statuses, [...Array.from({ length: 9 }, () => 200), 201]);
    t.is(new Set(replies.map(({ body }) => JSON.stringify(body))).size, 1);
    const after = await storedRows(api.punctual.orm, client.workspaceId);
    t.is(after[table], (before[table] ?? 0) + 1);
  });
}

test('an answer that may contain a secret is for the API key that made it', async (t) => {
  const client = await workspace();
  const key = await createApiKey(api.punctual.orm.em.fork(), client.workspaceId, {});
  const colleague = clientFor(api.punctual.url, client.workspaceId, key);
  for (const { call, make } of creating.filter(({ call: one }) => !/media|copy/v.test(one))) {
    t.is((await make(client, 1, call)).status, 201);
    const { status, body } = await make(colleague, 1, call);
    t.deepEqual([status, body.code], [400, 'idempotency_key_reused'], call);
  }
});

test('an upload that filled the library is answered again', async (t) => {
  const client = await workspace();
  await limit(api.punctual, client, { files: 1 });
  const once = { bytes: await png, headers: withKey('k') };
  const first = await upload(api.punctual, client, once);
  mustReplay(t, first, await upload(api.punctual, client, once));
  const renamed = await upload(api.punctual, client, { ...once, fileName: 'other.png' });
  t.is(renamed.body.code, 'idempotency_key_reused');
  const full = await upload(api.punctual, client, { bytes: await png, headers: withKey('new') });
  t.is(full.body.code, 'quota_exceeded');
});

test('no secret of a kept answer is readable in the database', async (t) => {
  const client = await workspace();
  const { webhook } = (await creating[0]?.make(client, 1, 'k'))?.body ?? {};
  const { link } = (await creating[1]?.make(client, 1, 'l'))?.body ?? {};
  const rows = await api.punctual.orm.em
    .fork()
    .execute('select * from idempotency_keys where workspace_id = ?', [client.workspaceId]);
  t.is(rows.length, 2);
  t.false(JSON.stringify(rows).includes(webhook.secret));
  t.false(JSON.stringify(rows).includes(link.split('/').at(-1)));
});

test.serial('after 24 hours a key is free again, and the sweep removes it', async (t) => {
  const client = await newClient(api.punctual);
  const keys = async () =>
    (await storedRows(api.punctual.orm, client.workspaceId))['idempotency_keys'];
  try {
    const first = await creating[0]?.make(client, 1, 'k');
    aheadMs = 23 * 3_600_000;
    t.is((await creating[0]?.make(client, 1, 'k'))?.status, 200);
    aheadMs = 24 * 3_600_000 + 60_000;
    const again = await creating[0]?.make(client, 1, 'k');
    t.is(again?.status, 201);
    t.not(again?.body.webhook.id, first?.body.webhook.id);
    await client.post('/posts', { body: 'kept' }, withKey('post'));
    aheadMs = 50 * 3_600_000;
    await purgeExpired({ ...api.punctual.deps, now });
    t.is(await keys(), 1, 'the key of a post stays with it');
  } finally {
    aheadMs = 0;
  }
});
