import test from 'ava';
import { connectChannel } from '../../../services/channels/connect-channel.ts';
import { sharedApi } from '../../support/kit.ts';
import { storeChannel } from '../../support/seed.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { usualQuotas } from '../../support/punctual.ts';
import { adminOf, areRefused } from './admin.ts';

const api = sharedApi(test);
const call = (...words: readonly string[]) => adminOf(api.punctual).call(...words);

test('the operator sees the quotas of a workspace and their usage', async (t) => {
  const client = await api.newClient();
  const id = client.workspaceId;
  const channel = await storeChannel(api.punctual, id);
  await storeMedia(api.punctual, id, { sizeBytes: 3_000_000_000 });
  await storeMedia(api.punctual, id, { deletedAt: new Date() });
  const post = { body: 'äö', channel_ids: [channel], channel_bodies: { [channel]: '12345' } };
  await client.post('/posts', { ...post, schedule_in_minutes: 9 });
  await client.post('/posts', { thread: ['a', 'bc'] });
  await call('quota', 'set', id, 'drafts', '7');

  const { text, data } = await call('quota', 'show', id);

  const used = { scheduled: 1, drafts: 1, text_bytes: 12, files: 1, channels: 1 };
  t.deepEqual(data.workspace_id, id);
  for (const { quota, limit, used: has, default: usual } of data.quotas) {
    t.is(has, { ...used, media_bytes: 3_000_000_000 }[quota as keyof typeof used]);
    t.is(limit, { ...usualQuotas, drafts: 7 }[quota as keyof typeof used]);
    t.is(usual, usualQuotas[quota as keyof typeof used]);
  }

  t.regex(text, /^drafts +1 +7 +\d+$/mv);
  t.regex(text, /^media_bytes +3000000000 +10000000000 +10000000000$/mv);
});

test('a quota is reset with "default", and an invalid quota or number changes nothing', async (t) => {
  const client = await api.newClient();
  const id = client.workspaceId;
  t.is((await call('quota', 'set', id, 'drafts', '0')).data.limit, 0);
  t.is((await client.post('/posts', { body: 'x' })).status, 402);
  await areRefused(t, adminOf(api.punctual), [
    [['quota', 'set', id, 'posts', '1'], 'UsageError', /no quota "posts".*text_bytes/v],
    [['quota', 'set', id, 'drafts', '-1'], 'UsageError', /whole number/v],
    [['quota', 'set', id, 'drafts', '1e9'], 'UsageError', /whole number/v],
    [['quota', 'set', crypto.randomUUID(), 'drafts', '1'], 'AppError', /no workspace/v],
    [['quota', 'show', 'nobody'], 'AppError', /no workspace/v],
  ]);
  t.is((await client.post('/posts', { body: 'x' })).status, 402);

  t.is((await call('quota', 'set', id, 'drafts', 'default')).data.limit, usualQuotas.drafts);
  t.is((await client.post('/posts', { body: 'x' })).status, 201);
});

test('setting any quota recounts the texts, also those changed in the database', async (t) => {
  const client = await api.newClient();
  await call('quota', 'set', client.workspaceId, 'text_bytes', '60');
  const { id } = (await client.post('/posts', { body: 'x'.repeat(50) })).body.post;
  await api.punctual.orm.em
    .fork()
    .execute(`update posts set body = 'x', thread = '["äöü"]' where id = ?`, [id]);
  const post = { body: 'x'.repeat(53) };
  const refused = await client.post('/posts', post);
  t.like(refused.body.details, [{ quota: 'text_bytes', limit: 60, used: 50 }]);

  await call('quota', 'set', client.workspaceId, 'files', '1');
  t.is((await client.post('/posts', post)).status, 201);
  const full = await client.post('/posts', { body: 'x' });
  t.like(full.body.details, [{ quota: 'text_bytes', limit: 60, used: 60 }]);
});

test('of ten concurrent connections only as many as the quota allows succeed; a reconnect always succeeds', async (t) => {
  const { workspaceId } = await api.newClient();
  await call('quota', 'set', workspaceId, 'channels', '3');
  const { orm, deps } = api.punctual;
  const connect = (remoteId: string) =>
    connectChannel(
      orm.em.fork(),
      deps.sealer,
      workspaceId,
      'fake',
      {
        baseUrl: 'https://fake.example',
        remoteId,
        handle: '@me',
        credentials: {},
        session: null,
        settings: {},
      },
      { most: 100 },
    );

  const outcomes = await Promise.allSettled(Array.from({ length: 10 }, (_, n) => connect(`${n}`)));

  const connected = outcomes.filter((outcome) => outcome.status === 'fulfilled');
  t.is(connected.length, 3);
  const full = { code: 'quota_exceeded', message: /may have 3 channels, and has 3;/v };
  await t.throwsAsync(connect('another'), full);
  await call('quota', 'set', workspaceId, 'channels', '1');
  const [known] = connected;
  t.is(known && (await connect(String(known.value.remoteId))).id, known?.value.id);
});
