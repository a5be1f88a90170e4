import test from 'ava';
import { purgeWorkspaces } from '../../activities/sweep/purge-workspaces.ts';
import { allRoutes } from '../../api/app.ts';
import { adminOf } from '../cli/admin/admin.ts';
import { clientFor, type Reply } from '../support/client.ts';
import { sharedPunctual } from '../support/kit.ts';
import { picture } from '../support/media-files.ts';
import { filesOf, sweepLibrary, upload } from '../support/media-library.ts';
import { fakeNetwork } from '../support/networks.ts';
import { newOperator as operatorOf } from '../support/operator.ts';
import { poll } from '../support/poll.ts';
import { rawCall } from '../support/raw-call.ts';
import { fakeChannel } from '../support/seed.ts';
import { storedRows } from '../support/stored-rows.ts';
import { ownedBy, silentPort } from './owned.ts';

const api = sharedPunctual(test, { allowPorts: [silentPort] });
const call = (...words: readonly string[]) => adminOf(api.punctual).call(...words);

const newOperator = () => operatorOf(api.punctual);

test('an operator creates a workspace with limits and a key, which works for its customer', async (t) => {
  const operator = await newOperator();
  const quotas = { scheduled: 5, drafts: 1 };
  const made = await operator.post('/workspaces', { name: ' Ana & Co ', quotas });
  t.is(made.status, 201);
  const { id } = made.body.workspace;
  t.is(made.headers.get('location'), `/api/v1/workspaces/${id}`);
  t.like(made.body.workspace, { name: 'Ana & Co', plan: 'standard', deleted_at: null });
  t.like(made.body.workspace.quotas, quotas);

  const { key } = (await operator.post(`/workspaces/${id}/keys`)).body;
  const customer = clientFor(api.punctual.url, id, key.key);
  t.is(key.last_four, customer.key.slice(-4));
  t.is((await customer.post('/posts', { body: 'x' })).status, 201);
  t.is((await customer.post('/posts', { body: 'x' })).body.code, 'quota_exceeded');

  const edit = { name: 'Ana', plan: null, quotas: { drafts: null } };
  const edited = (await operator.patch(`/workspaces/${id}`, edit)).body.workspace;
  t.like(edited, { name: 'Ana', plan: null });
  t.true(edited.quotas.drafts > 1);
  t.is(edited.quotas.scheduled, 5);
  t.is((await customer.post('/posts', { body: 'x' })).status, 402);
  t.deepEqual((await operator.get(`/workspaces/${id}`)).body, { workspace: edited });
  const { entries } = (await customer.get('/audit')).body;
  t.deepEqual(
    entries.map(({ action, actor }: Entry) => [action, actor.type, actor.id, actor.last_four]),
    [
      ['workspace.edited', 'operator', operator.id, operator.key.slice(-4)],
      ['post.created', 'key', key.id, key.last_four],
      ['key.created', 'operator', operator.id, operator.key.slice(-4)],
      ['workspace.created', 'operator', operator.id, operator.key.slice(-4)],
    ],
  );
  t.truthy(entries[0].request_id);
});

type Entry = {
  readonly action: string;
  readonly actor: { readonly type: string; readonly id: string; readonly last_four: string };
};

test('of repeated calls with an idempotency key one creates a workspace or a key, and the others answer the same', async (t) => {
  const [operator, other] = [await newOperator(), await newOperator()];
  const { id } = (await operator.post('/workspaces', { name: 'Ana' })).body.workspace;
  const create = (path: string, name: string, by = operator) =>
    by.post(path, { name }, { 'idempotency-key': `k${path}` });
  for (const path of ['/workspaces', `/workspaces/${id}/keys`]) {
    const replies = await Promise.all([1, 2, 3, 4].map(() => create(path, 'a')));
    t.deepEqual(replies.map(({ status }) => status).toSorted(), [200, 200, 200, 201], path);
    t.is(new Set(replies.map(({ body }) => JSON.stringify(body))).size, 1);
    t.is((await create(path, 'b')).body.code, 'idempotency_key_reused');
    const elsewhere = await create(path, 'a', other);
    t.is(elsewhere.status, 201, 'keys of another operator are independent');
    t.notDeepEqual(elsewhere.body, replies[0]?.body);
  }
});

test('a workspace has a brand whose fields change one by one, and hostile values are refused at their field', async (t) => {
  const operator = await newOperator();
  const none = { name: null, logo_url: null, color: null, terms_url: null, privacy_url: null };
  const brand = { name: ' Album ', color: '#1F5FBF', terms_url: null };
  const { id, ...made } = (await operator.post('/workspaces', { name: 'Ana', brand })).body
    .workspace;
  t.deepEqual(made.brand, { ...none, name: 'Album', color: '#1f5fbf' });
  const edit = async (given: object | null) => {
    t.is((await operator.patch(`/workspaces/${id}`, { brand: given })).status, 200);
    return (await operator.get(`/workspaces/${id}`)).body.workspace.brand;
  };
  const logo = 'https://album.example/logo.png?v=2';
  t.deepEqual(await edit({ logo_url: logo, name: null }), {
    ...none,
    color: '#1f5fbf',
    logo_url: logo,
  });
  t.like(await edit({}), { color: '#1f5fbf', logo_url: logo });

  const addresses = [
    '',
    'http://album.example/',
    'javascript:alert(1)',
    'https://ana:secret@album.example/',
    'https://a;script-src/logo.png',
    'https://[::1]/logo.png',
    'https://album.example/\nx',
    `https://album.example/${'x'.repeat(480)}`,
  ];
  const wrong: Readonly<Record<string, readonly string[]>> = {
    name: ['', ' \u200b', 'a\nb', 'a\u202eb', 'x'.repeat(101)],
    color: ['', 'red', '#fff', '#1f5fbf00', '#1f5fb;', '#1f5fbg', '#1f5fbf\n'],
    logo_url: addresses,
    terms_url: addresses,
    privacy_url: addresses,
  };
  for (const [field, values] of Object.entries(wrong)) {
    for (const value of values) {
      const body = { brand: { [field]: value } };
      for (const refused of [
        await operator.patch(`/workspaces/${id}`, body),
        await operator.post('/workspaces', { name: 'x', ...body }),
      ]) {
        t.deepEqual([refused.status, refused.body.code], [400, 'invalid_request'], value);
        t.is(refused.body.details[0].path, `/brand/${field}`, value);
        t.regex(refused.body.error, /must (?:be an? |have at most)/v, value);
      }
    }
  }

  t.is((await operator.post('/workspaces', { name: 'x', brand: { logo } })).status, 400);
  t.deepEqual(await edit(null), none);
});

test('workspaces are listed in pages, newest first, and bad values are refused', async (t) => {
  const operator = await newOperator();
  const ids: string[] = [];
  for (const name of ['one', 'two', 'three']) {
    ids.unshift((await operator.post('/workspaces', { name })).body.workspace.id);
  }

  const listed: string[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const page: Reply = await operator.get(`/workspaces?limit=2${cursor && `&cursor=${cursor}`}`);
    listed.push(...page.body.workspaces.map((one: { id: string }) => one.id));
    cursor = page.body.next_cursor;
  }

  t.deepEqual(
    listed.filter((id) => ids.includes(id)),
    ids,
  );
  for (const body of [
    {},
    { name: ' ' },
    { name: 'a\nb' },
    { name: 'x', plan: 'Gold!' },
    { name: 'x', quotas: { posts: 1 } },
    { name: 'x', quotas: { files: -1 } },
  ]) {
    const refused = await operator.post('/workspaces', body);
    t.deepEqual(
      [refused.status, refused.body.code],
      [400, 'invalid_request'],
      JSON.stringify(body),
    );
  }

  t.is((await operator.get(`/workspaces/${crypto.randomUUID()}`)).status, 404);
  t.is((await operator.post(`/workspaces/${crypto.randomUUID()}/keys`)).status, 404);
});

test('an operator key is refused in every call of a workspace, an API key in every call for operators, and both are told why', async (t) => {
  const [operator, customer] = [await newOperator(), await api.newClient()];
  const id = customer.workspaceId;
  for (const { method, path, isForOperators } of allRoutes) {
    const reply = await rawCall(`${api.punctual.url}/api/v1${path.replaceAll(/\{\w+\}/gv, id)}`, {
      method: method.toUpperCase(),
      headers: { authorization: `Bearer ${isForOperators ? customer.key : operator.key}` },
    });
    t.deepEqual([reply.status, reply.body.code], [403, 'wrong_key_type'], path);
    t.regex(reply.body.error, isForOperators ? /needs an operator key/v : /API keys/v);
  }

  t.is((await customer.get('/me')).body.workspace.id, id);
});

test('a revoked or unknown operator key is refused', async (t) => {
  const operator = await newOperator();
  t.is((await operator.get('/workspaces')).status, 200);
  const { data } = await call('operator-key', 'list');
  const mine = data.operator_keys.find(({ id }: { id: string }) => id === operator.id);
  t.is(mine.last_four, operator.key.slice(-4));
  t.truthy(mine.last_used_at);
  t.false(JSON.stringify(data).includes(operator.key));

  await call('operator-key', 'revoke', operator.id);
  t.is((await operator.get('/workspaces')).status, 401);
  t.is((await clientFor(api.punctual.url, '', 'svc_admin_x').get('/workspaces')).status, 401);
});

test('a deleted workspace publishes nothing more, and every row and file of it goes, however often the purge is stopped', async (t) => {
  const { punctual } = api;
  const operator = await newOperator();
  const [mine, other] = [await ownedBy(punctual), await ownedBy(punctual)];
  const { client } = mine;
  const { workspaceId } = client;
  const network = fakeNetwork();
  const channel = await fakeChannel(punctual, workspaceId, network);
  await upload(punctual, client, { bytes: await picture('png') });
  await client.post('/posts', { body: 'Keyed', idempotency_key: 'k' });
  const files = await filesOf(punctual);
  // The last call before the deletion, so that a busy machine does not reach the due time first.
  const soon = new Date(Date.now() + 4000).toISOString();
  const due = { body: 'Due', channel_ids: [channel], scheduled_at: soon };
  const post: string = (await client.post('/posts', due)).body.post.id;

  const reply = await operator.delete(`/workspaces/${workspaceId}`);
  t.is(reply.status, 202);
  t.truthy(reply.body.workspace.deleted_at);
  t.is((await client.get('/me')).status, 401);
  t.is((await operator.patch(`/workspaces/${workspaceId}`, { name: 'x' })).status, 404);
  t.is((await operator.post(`/workspaces/${workspaceId}/keys`)).status, 404);
  t.is((await operator.delete(`/workspaces/${workspaceId}`)).status, 202);

  const theirs = await storedRows(punctual.orm, other.client.workspaceId);
  const handle = punctual.temporal.client.workflow.getHandle(`post-${post}`);
  const purge = async (mostBatches: number): Promise<number> => {
    let batches = 0;
    await purgeWorkspaces(punctual.deps, () => (batches += 1) > mostBatches);
    const rows = await storedRows(punctual.orm, workspaceId);
    return Object.values(rows).reduce((sum, count) => sum + count, 0);
  };
  for (const mostBatches of [1, 2, 3, 4, 5, 6, 7]) {
    await purge(mostBatches);
  }

  await poll(
    async () => {
      await sweepLibrary(punctual);
      return purge(Number.POSITIVE_INFINITY);
    },
    (rows) => rows === 0,
  );
  await poll(
    () => handle.describe(),
    ({ status }) => status.name !== 'RUNNING', // On a busy machine the time comes before the purge.
  );
  t.deepEqual(network.sends, []);
  t.deepEqual(await storedRows(punctual.orm, other.client.workspaceId), theirs);
  t.is((await filesOf(punctual)).length, files.length - 1);

  t.is((await operator.get(`/workspaces/${workspaceId}`)).status, 200);
  const later = { ...punctual.deps, now: () => new Date(Date.now() + 2 * 3_600_000) };
  await purgeWorkspaces(later, () => false);
  t.is((await operator.get(`/workspaces/${workspaceId}`)).status, 404);
  t.is((await operator.delete(`/workspaces/${workspaceId}`)).status, 404);
  t.is((await other.client.get('/me')).status, 200);
});

test('the command deletes a workspace only after its name was typed', async (t) => {
  const client = await api.newClient('Ana & Co');
  const id = client.workspaceId;
  const typing = (name: string) => adminOf(api.punctual, null, name);
  await t.throwsAsync(typing('').call('workspace', 'delete', id), { name: 'UsageError' });
  await t.throwsAsync(typing('ana').call('workspace', 'delete', id), { name: 'UsageError' });
  await t.throwsAsync(call('workspace', 'delete', id, '--yes', id), { name: 'UsageError' });
  t.is((await client.get('/me')).status, 200);

  t.like((await typing('Ana & Co').call('workspace', 'delete', id)).data, { workspace_id: id });
  t.is((await client.get('/me')).status, 401);
  const { workspaces } = (await call('workspace', 'list')).data;
  t.truthy(workspaces.find((one: { id: string }) => one.id === id).deleted_at);
  await t.throwsAsync(call('key', 'create', id), { code: 'not_found' });
});

test('a channel that the operator renamed keeps that name when its account is connected again', async (t) => {
  const client = await api.newClient();
  const network = fakeNetwork();
  const id = await fakeChannel(api.punctual, client.workspaceId, network);
  const nameNow = async () => (await client.get(`/channels/${id}`)).body.channel.display_name;
  await call('channel', 'rename', id, ' Our main\naccount ');
  await fakeChannel(api.punctual, client.workspaceId, network);
  t.is(await nameNow(), 'Our main account');
  await call('channel', 'rename', id, '');
  t.is(await nameNow(), null);
});
