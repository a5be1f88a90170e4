import { once } from 'node:events';
import { request, type ClientRequest } from 'node:http';
import { json } from 'node:stream/consumers';
import test from 'ava';
import { allRoutes } from '../../../api/app.ts';
import type { Route } from '../../../api/http/route.ts';
import { recordAudit } from '../../../db/audit.ts';
import { deleteWorkspace } from '../../../services/workspaces/write-workspaces.ts';
import { clientFor, newClient } from '../../support/client.ts';
import { holdLock } from '../../support/hold-lock.ts';
import { sharedApi } from '../../support/kit.ts';
import { picture } from '../../support/media-files.ts';
import { newOperator } from '../../support/operator.ts';
import { poll } from '../../support/poll.ts';
import { storeChannel } from '../../support/seed.ts';
import { storedRows } from '../../support/stored-rows.ts';

const api = sharedApi(test);

/** Every call that reads a body, from the list that the server mounts. */
const calls = allRoutes.filter(({ method }) => ['post', 'patch'].includes(method));
const ofWorkspaces = calls.filter(({ isForOperators }) => !isForOperators);
const ofOperators = calls.filter(({ isForOperators }) => isForOperators);

const boundary = 'between-parts';
const start = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n`;
const upload = picture('png').then((png) =>
  Buffer.concat([Buffer.from(start), png, Buffer.from(`\r\n--${boundary}--\r\n`)]),
);

/** A call of which the server has the headers and the first byte. */
type Withheld = { readonly title: string; readonly rest: Uint8Array; readonly sent: ClientRequest };

async function withhold(
  { method, path, bodyKind }: Pick<Route, 'method' | 'path' | 'bodyKind'>,
  key: string,
): Promise<Withheld> {
  const isForm = bodyKind === 'multipart';
  const body = isForm ? await upload : Buffer.from('{}');
  const at = path.replaceAll(/\{\w+\}/gv, crypto.randomUUID());
  const sent = request(`${api.punctual.url}/api/v1${at}`, {
    method: method.toUpperCase(),
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': isForm ? `multipart/form-data; boundary=${boundary}` : 'application/json',
      'content-length': body.length,
    },
  });
  sent.write(body.subarray(0, 1));
  return { title: `${method} ${path}`, rest: body.subarray(1), sent };
}

/** Sends the rest. @returns the status and the code of the answer. */
async function finish({ title, rest, sent }: Withheld): Promise<readonly [string, number, string]> {
  const answered = once(sent, 'response');
  sent.end(rest);
  const [response] = await answered;
  const { code } = (await json(response)) as { readonly code: string };
  return [title, response.statusCode, code];
}

/** Waits until the server has admitted as many calls with the key. */
const untilAdmitted = async (keyId: string, count: number): Promise<unknown> =>
  poll(
    () => api.punctual.callsOf(keyId),
    ({ requests }) => requests >= count,
  );

const change = (statement: string, id: string): Promise<unknown> =>
  api.punctual.orm.em.fork().execute(statement, [id]);

async function newKey() {
  const client = await newClient(api.punctual);
  const { id } = (await client.get('/me')).body.key;
  return { client, id: String(id), counted: 1 };
}

type End = readonly [
  how: string,
  end: (keyId: string, workspaceId: string) => Promise<unknown>,
  status: number,
];

const ends: readonly End[] = [
  ['is revoked', (id) => change('update api_keys set revoked_at = now() where id = ?', id), 401],
  ['expires', (id) => change('update api_keys set expires_at = now() where id = ?', id), 401],
  [
    'loses its scopes',
    (id) => change(`update api_keys set scopes = '{posts:read}' where id = ?`, id),
    403,
  ],
  ['goes with its workspace', (_, id) => deleteWorkspace(api.punctual.deps, {}, id), 401],
];

for (const [how, end, status] of ends) {
  test(`no call changes anything when its key ${how} before its body is there`, async (t) => {
    const { client, id, counted } = await newKey();
    const open = await Promise.all(ofWorkspaces.map((call) => withhold(call, client.key)));
    await untilAdmitted(id, counted + open.length);
    await end(id, client.workspaceId);
    const after = await storedRows(api.punctual.orm, client.workspaceId);
    for (const [call, ...answer] of await Promise.all(open.map(finish))) {
      const isUpload = call === 'post /media';
      const code = status === 401 || isUpload ? 'unauthorized' : 'scope_missing';
      t.deepEqual(answer, [isUpload ? 401 : status, code], call);
    }

    t.deepEqual(await storedRows(api.punctual.orm, client.workspaceId), after);
  });
}

for (const column of ['revoked_at', 'expires_at']) {
  test(`no call of an operator changes anything after its key's ${column}, also with a body that came later`, async (t) => {
    const operator = await newOperator(api.punctual);
    const open = await Promise.all(ofOperators.map((call) => withhold(call, operator.key)));
    await untilAdmitted(operator.id, open.length);
    await change(`update operator_keys set ${column} = now() where id = ?`, operator.id);
    for (const [call, ...answer] of await Promise.all(open.map(finish))) {
      t.deepEqual(answer, [401, 'unauthorized'], call);
    }

    t.is((await operator.get('/workspaces')).status, 401);
  });
}

test('a key for one channel cannot cancel a post that left that channel before its body was there', async (t) => {
  const { client, id } = await newKey();
  const { orm } = api.punctual;
  const [own, other] = [
    await storeChannel(api.punctual, client.workspaceId),
    await storeChannel(api.punctual, client.workspaceId),
  ];
  const body = { body: 'x', channel_ids: [own], schedule_in_minutes: 600 };
  const post: string = (await client.post('/posts', body)).body.post.id;
  const made = await client.post('/keys', {
    name: 'Limited',
    scopes: ['posts:write'],
    channel_ids: [own],
  });
  const { key } = made.body;
  t.not(key.id, id);
  const open = await withhold({ method: 'post', path: `/posts/${post}/cancel` }, key.key);
  await untilAdmitted(key.id, 1);
  t.is((await client.patch(`/posts/${post}`, { channel_ids: [other] })).status, 200);
  // A body is parsed only in the turn of its call, since parsed bodies that wait fill the memory.
  const broken = { ...open, rest: Buffer.from('[') };
  t.deepEqual((await finish(broken)).slice(1), [404, 'not_found']);
  const [row] = await orm.em
    .fork()
    .execute<{ status: string }[]>('select status from posts where id = ?', [post]);
  t.is(row?.status, 'scheduled');
});

/** Every call that changes or copies a post. */
const changes = ofWorkspaces
  .concat(allRoutes.filter(({ method }) => method === 'delete'))
  .filter(({ path }) => path.startsWith('/posts/{id}'));

test('a key for one channel changes no post that leaves that channel while its call waits', async (t) => {
  const all = await api.newClient();
  const { orm } = api.punctual;
  const [own, other] = [
    await storeChannel(api.punctual, all.workspaceId),
    await storeChannel(api.punctual, all.workspaceId),
  ];
  const scopes = ['posts:write', 'posts:publish'];
  const limited = { name: 'Limited', scopes, channel_ids: [own] };
  const { key } = (await all.post('/keys', limited)).body.key;
  const one = clientFor(api.punctual.url, all.workspaceId, key);
  t.true(changes.length >= 7);
  for (const { method, path } of changes) {
    const scheduled = { body: 'x', channel_ids: [own], schedule_in_minutes: 600 };
    const { id } = (await all.post('/posts', scheduled)).body.post;
    // Its sync with Temporal would wait for the same lock.
    const synced = 'select 1 from posts where id = ? and synced_revision = revision';
    await poll(
      () => orm.em.fork().execute<unknown[]>(synced, [id]),
      (rows) => rows.length === 1,
    );
    const { waiting, release } = await holdLock(
      t,
      orm,
      `with post as (select id from posts where id = '${id}' for update)
       update post_channels set channel_id = '${other}' from post where post_id = post.id`,
    );
    const before = await storedRows(orm, all.workspaceId);
    const at = path.replace('{id}', id);
    const call = {
      post: () => one.post(at, path.endsWith('/settle') ? { channel_id: own, url: null } : {}),
      patch: () => one.patch(at, { body: 'y' }),
      delete: () => one.delete(at),
    }[method as 'post' | 'patch' | 'delete']();
    await poll(waiting, (count) => count === 1);
    release();
    const { status, body } = await call;
    t.deepEqual([status, body.code], [404, 'not_found'], `${method} ${path}`);
    t.deepEqual(await storedRows(orm, all.workspaceId), before);
    const { post } = (await all.get(`/posts/${id}`)).body;
    t.like(post, { body: 'x', status: 'scheduled', channels: [{ channel_id: other }] });
  }
});

test('a revocation waits for the changes that its key is making, and comes before all others', async (t) => {
  const { client, id } = await newKey();
  const actor = { workspaceId: client.workspaceId, keyId: id };
  const em = api.punctual.orm.em.fork();
  await em.begin();
  await recordAudit(em, actor, 'post.edited', crypto.randomUUID());
  let isRevoked = false;
  const revoked = client.delete(`/keys/${id}`).finally(() => (isRevoked = true));
  await poll(
    () =>
      api.punctual.orm.em
        .fork()
        .execute<{ count: number }[]>(
          `select count(*)::int as count from pg_locks where not granted`,
        ),
    ([row]) => (row?.count ?? 0) > 0,
  );
  t.false(isRevoked);
  await em.commit();
  t.is((await revoked).status, 200);
  await t.throwsAsync(recordAudit(api.punctual.orm.em.fork(), actor, 'post.edited', id));
});

test('a call that waits for events ends when its key is revoked', async (t) => {
  const { client, id } = await newKey();
  const waiting = client.get('/events?wait=25');
  await untilAdmitted(id, 2);
  await change('update api_keys set revoked_at = now() where id = ?', id);
  t.is((await waiting).status, 401);
});
