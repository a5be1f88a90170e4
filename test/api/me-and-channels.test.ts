import test from 'ava';
import { newClient } from '../support/client.ts';
import { startApi } from '../support/punctual.ts';
import { channelToken, storeChannel } from '../support/seed.ts';

test('GET /me names the workspace of the key and counts its own channels only', async (t) => {
  const punctual = await startApi(t);
  const [mine, other] = [await newClient(punctual, 'Mine'), await newClient(punctual, 'Other')];
  await storeChannel(punctual, mine.workspaceId);
  await storeChannel(punctual, mine.workspaceId);
  await storeChannel(punctual, other.workspaceId);

  const reply = await mine.get('/me');

  t.is(reply.status, 200);
  const workspace = { id: mine.workspaceId, name: 'Mine' };
  t.deepEqual(reply.body, { workspace, channels: 2 });
  t.like((await other.get('/me')).body, { channels: 1 });
});

test('a workspace without a name is shown with none', async (t) => {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  await punctual.orm.em
    .fork()
    .execute('update workspaces set name = null where id = ?', [client.workspaceId]);
  t.deepEqual((await client.get('/me')).body, {
    workspace: { id: client.workspaceId, name: null },
    channels: 0,
  });
});

test('GET /channels lists the own channels, oldest first, with their state and no secret', async (t) => {
  const punctual = await startApi(t);
  const [client, other] = [await newClient(punctual), await newClient(punctual)];
  const { workspaceId } = client;
  const first = await storeChannel(punctual, workspaceId, { handle: '@first@social.test' });
  await storeChannel(punctual, other.workspaceId, { handle: '@other@social.test' });
  const second = await storeChannel(punctual, workspaceId, {
    platform: 'bluesky',
    handle: 'b.test',
  });
  const third = await storeChannel(punctual, workspaceId, { handle: '@third@social.test' });
  const em = punctual.orm.em.fork();
  await em.execute(`update channels set created_at = '2020-01-01' where id = ?`, [third]);
  await em.execute(
    `update channels set state = 'needs_reconnect', error = 'Revoked.' where id = ?`,
    [second],
  );

  const reply = await client.get('/channels');

  t.is(reply.status, 200);
  const ids = reply.body.channels.map(({ id }: { id: string }) => id);
  t.deepEqual(ids, [third, first, second]);
  const [{ created_at: at, ...oldest }, , lost] = reply.body.channels;
  t.is(at, '2020-01-01T00:00:00.000Z');
  t.deepEqual(oldest, {
    id: third,
    platform: 'mastodon',
    handle: '@third@social.test',
    state: 'connected',
    error: null,
  });
  t.like(lost, { platform: 'bluesky', state: 'needs_reconnect', error: 'Revoked.' });
  t.deepEqual(Object.keys(lost), ['id', 'platform', 'handle', 'state', 'error', 'created_at']);
  t.false(JSON.stringify(reply.body).includes(channelToken));
});

test('a workspace without channels has an empty list', async (t) => {
  const client = await newClient(await startApi(t));
  t.deepEqual((await client.get('/channels')).body, { channels: [] });
});

test('a query parameter that a call does not take is refused and named', async (t) => {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const { body } = await client.post('/posts', { body: 'x' });
  for (const path of ['/me', '/channels', `/posts/${body.post.id}`]) {
    for (const [query, name] of [
      ['limit=1', 'limit'],
      ['x', 'x'],
      ['__proto__=1', '__proto__'],
      ['a%5Bb%5D=1', 'a[b]'],
      ['=1', ''],
    ]) {
      const reply = await client.get(`${path}?${query}`);
      t.is(reply.status, 400, `${path}?${query}`);
      t.is(reply.body.code, 'invalid_request');
      t.is(reply.body.details[0].path, `?${name}`);
    }
  }

  t.is((await client.post('/posts?dry_run=1', { body: 'x' })).status, 400);
  t.is((await client.get('/me?')).status, 200);
});
