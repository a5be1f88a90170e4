import test from 'ava';
import { startApi } from '../../support/punctual.ts';
import { ownedBy, silentPort } from '../owned.ts';
import { storedRows } from '../../support/stored-rows.ts';

test('without a plan creating, editing and retrying are 402, drafts included, and nothing changes', async (t) => {
  const punctual = await startApi(t, { allowPorts: [silentPort] });
  const { client, channel, draft, scheduled, failed } = await ownedBy(punctual);
  await punctual.orm.em.fork().execute('update workspaces set plan = null');
  const before = await storedRows(punctual.orm);
  const shown = (await client.get('/posts')).body;
  const replies = [
    await client.post('/posts', { body: 'A draft' }),
    await client.post('/posts', { body: 'x', channel_ids: [channel], schedule_in_minutes: 5 }),
    await client.patch(`/posts/${draft}`, { body: 'y' }),
    await client.patch(`/posts/${scheduled}`, { scheduled_at: null }),
    await client.post(`/posts/${failed}/retry`),
  ];
  for (const { status, body } of replies) {
    t.is(status, 402);
    t.is(body.code, 'plan_required');
  }

  t.deepEqual(await storedRows(punctual.orm), before);
  t.deepEqual((await client.get('/posts')).body, shown);
});

test('without a plan all else goes on: reading, cancelling, webhooks and media', async (t) => {
  const punctual = await startApi(t, { allowPorts: [silentPort] });
  const { client, draft, scheduled, webhook, media } = await ownedBy(punctual);
  await punctual.orm.em.fork().execute('update workspaces set plan = null');
  const paths = ['/me', '/channels', '/posts', `/posts/${draft}`, '/media', '/analytics'];
  for (const path of [...paths, '/webhooks', `/webhooks/${webhook}`, `/media/${media}`]) {
    t.is((await client.get(path)).status, 200, path);
  }

  t.is((await client.post(`/posts/${scheduled}/cancel`)).status, 200);
  t.is((await client.post('/posts/validate', { body: 'x' })).status, 200);
  t.is((await client.post(`/webhooks/${webhook}/test`)).status, 200);
  t.is((await client.delete(`/webhooks/${webhook}`)).status, 200);
});

test('a plan that comes back opens the three calls again', async (t) => {
  const punctual = await startApi(t, { allowPorts: [silentPort] });
  const { client, draft, failed } = await ownedBy(punctual);
  const em = punctual.orm.em.fork();
  await em.execute('update workspaces set plan = null');
  t.is((await client.post('/posts', { body: 'x' })).status, 402);
  await em.execute(`update workspaces set plan = 'standard'`);
  t.is((await client.post('/posts', { body: 'x' })).status, 201);
  t.is((await client.patch(`/posts/${draft}`, { body: 'y' })).status, 200);
  t.is((await client.post(`/posts/${failed}/retry`)).status, 202);
});
