import test from 'ava';
import { type Client } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { storedRows } from '../../support/stored-rows.ts';
import { ownedBy, silentPort } from '../owned.ts';

const api = sharedApi(test, { allowPorts: [silentPort] });

const setPlan = ({ workspaceId }: Client, plan: string | null): Promise<unknown> =>
  api.punctual.orm.em
    .fork()
    .execute('update workspaces set plan = ? where id = ?', [plan, workspaceId]);

test('without a plan creating, editing and retrying are 402, drafts included, and nothing changes', async (t) => {
  const { client, channel, draft, scheduled, failed } = await ownedBy(api.punctual);
  await setPlan(client, null);
  const before = await storedRows(api.punctual.orm, client.workspaceId);
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

  t.deepEqual(await storedRows(api.punctual.orm, client.workspaceId), before);
  t.deepEqual((await client.get('/posts')).body, shown);
});

test('without a plan all other calls work: reading, cancelling, webhooks and media', async (t) => {
  const { client, draft, scheduled, webhook, media } = await ownedBy(api.punctual);
  await setPlan(client, null);
  const paths = ['/me', '/channels', '/posts', `/posts/${draft}`, '/media', '/analytics'];
  for (const path of [...paths, '/webhooks', `/webhooks/${webhook}`, `/media/${media}`]) {
    t.is((await client.get(path)).status, 200, path);
  }

  t.is((await client.post(`/posts/${scheduled}/cancel`)).status, 200);
  t.is((await client.post('/posts/validate', { body: 'x' })).status, 200);
  t.is((await client.post(`/webhooks/${webhook}/test`)).status, 200);
  t.is((await client.delete(`/webhooks/${webhook}`)).status, 200);
});
