import test from 'ava';
import { createApiKey } from '../../../cli/admin/workspaces.ts';
import { scopes } from '../../../domain/api-keys.ts';
import { clientFor } from '../../support/client.ts';
import { holdLock } from '../../support/hold-lock.ts';
import { sharedApi } from '../../support/kit.ts';
import { poll } from '../../support/poll.ts';
import { storeChannel } from '../../support/seed.ts';
import { adminOf, areRefused } from './admin.ts';

const api = sharedApi(test);
const call = (...words: readonly string[]) => adminOf(api.punctual).call(...words);

type Key = {
  readonly id: string;
  readonly last_four: string;
  readonly created_at: string;
  readonly last_used_at: string | null;
  readonly revoked_at: string | null;
};
const keysOf = async (workspaceId: string): Promise<Key[]> =>
  (await call('key', 'list', workspaceId)).data.keys;

test('the keys of a workspace are listed without the keys themselves, and without those of other workspaces', async (t) => {
  const client = await api.newClient();
  const other = await api.newClient();
  const second = await createApiKey(api.punctual.orm.em.fork(), client.workspaceId);

  const { text, data } = await call('key', 'list', client.workspaceId);

  t.is(data.workspace_id, client.workspaceId);
  t.deepEqual(
    data.keys.map((key: Key) => key.last_four),
    [client.key.slice(-4), second.slice(-4)],
  );
  t.regex(text, new RegExp(`^\\S+  ${second.slice(-4)} `, 'mv'));
  for (const key of [client.key, second, other.key]) {
    t.false((text + JSON.stringify(data)).includes(key.slice('svc_live_'.length, -4)));
  }

  t.false((text + JSON.stringify(data)).includes(other.workspaceId));
});

test('the last use of a key is recorded to the minute, and calls do not wait for it', async (t) => {
  const client = await api.newClient();
  const { orm } = api.punctual;
  t.is((await keysOf(client.workspaceId))[0]?.last_used_at, null);
  const lock = `select id from api_keys where workspace_id = '${client.workspaceId}' for update`;
  const { release } = await holdLock(t, orm, lock); // As by a change that the key is making.
  t.is((await client.get('/me')).status, 200);
  t.is((await client.get('/me')).status, 200);
  release();

  const used = async () => (await keysOf(client.workspaceId))[0]?.last_used_at;
  const first = await poll(
    async () => (await client.get('/me')) && used(),
    (at) => typeof at === 'string',
  );
  for (let calls = 0; calls < 5; calls += 1) {
    t.is((await client.get('/me')).status, 200);
  }

  t.is(await used(), first, 'written once a minute');
  const longAgo = `update api_keys set last_used_at = now() - interval '2 minutes' where workspace_id = ?`;
  await orm.em.fork().execute(longAgo, [client.workspaceId]);
  t.is((await client.get('/me')).status, 200);
  await poll(used, (at) => Date.parse(at ?? '') >= Date.parse(first ?? ''));
});

test('revoking twice keeps the first time, and an unknown id is refused without repeating it', async (t) => {
  const client = await api.newClient();
  const [key] = await keysOf(client.workspaceId);
  const first = (await call('key', 'revoke', key?.id ?? '')).data.key.revoked_at;
  t.is((await call('key', 'revoke', key?.id ?? '')).data.key.revoked_at, first);
  t.is((await keysOf(client.workspaceId))[0]?.revoked_at, first);

  await areRefused(t, adminOf(api.punctual), [
    [['key', 'revoke', client.key], 'AppError', /^There is no API key with this id; "[^"]*"/v],
    [['key', 'revoke', crypto.randomUUID()], 'AppError', /^There is no API key/v],
    [['key', 'list', crypto.randomUUID()], 'AppError', /no workspace/v],
    [['key', 'revoke'], 'UsageError', /KEY_ID is missing/v],
  ]);
  const error = await t.throwsAsync(call('key', 'revoke', client.key));
  t.false(error.message.includes(client.key));
});

test('an operator creates a key with a name, scopes, channels and an end, and sees them in the list', async (t) => {
  const { workspaceId } = await api.newClient();
  const channel = await storeChannel(api.punctual, workspaceId);
  const words = ['key', 'create', workspaceId];
  const rights = ['--scopes', 'posts:read,media', '--channels', channel];
  const end = ['--name', 'Newsroom', '--expires', '2100-01-01T00:00:00Z'];
  const { data } = await call(...words, ...rights, ...end);

  const made = clientFor(api.punctual.url, workspaceId, data.api_key);
  t.is((await made.get('/posts')).status, 200);
  t.is((await made.get('/webhooks')).body.code, 'scope_missing');
  t.like((await keysOf(workspaceId)).at(-1), {
    last_four: data.api_key.slice(-4),
    name: 'Newsroom',
    scopes: ['posts:read', 'media'],
    channel_ids: [channel],
    expires_at: '2100-01-01T00:00:00.000Z',
  });
  await areRefused(t, adminOf(api.punctual), [
    [[...words, '--scopes', 'posts'], 'UsageError', /"posts" to be one of .posts:read/v],
    [
      [...words, '--channels', crypto.randomUUID()],
      'AppError',
      /No connected channel of this workspace/v,
    ],
    [
      [...words, '--channels', channel, '--scopes', 'webhooks'],
      'AppError',
      /cannot have the scope webhooks/v,
    ],
    [[...words, '--expires', '2020-01-01T00:00:00Z'], 'AppError', /in the past/v],
  ]);
  t.is((await call(...words, '--channels', channel)).data.key.scopes.length, scopes.length - 1);
  t.is((await keysOf(workspaceId)).length, 3);
});

test('an operator creates a link with which a person connects an account', async (t) => {
  const { workspaceId } = await api.newClient();
  const words = ['channel', 'connect', workspaceId, '--platform', 'bluesky'];
  const { text, data } = await call(...words, '--handle', 'ana.example');
  const { link } = data;
  t.regex(link, /^https:\/\/punctual\.example\/connect\/[0-9A-Za-z]{32}$/v);
  t.true(text.endsWith(`\n${link}`));
  const page = await fetch(`${api.punctual.url}${new URL(link).pathname}`);
  t.is(page.status, 200);
  t.true((await page.text()).includes('value="ana.example"'));
});

test('a link that could not connect an account is refused, with the reason', async (t) => {
  const { workspaceId } = await api.newClient();
  const channel = await storeChannel(api.punctual, workspaceId, { platform: 'x' });
  const connect = ['channel', 'connect', workspaceId, '--platform'];
  await areRefused(t, adminOf(api.punctual), [
    [
      [...connect, 'x'],
      'AppError',
      /has to set PUNCTUAL_X_CLIENT_ID and PUNCTUAL_X_CLIENT_SECRET/v,
    ],
    [[...connect, 'linkedin'], 'AppError', /^Accounts of LinkedIn cannot be connected yet/v],
    [[...connect, 'mastodon', '--handle', 'ana'], 'AppError', /an account of Mastodon takes url/v],
    [[...connect, 'x', '--sandbox'], 'AppError', /PUNCTUAL_SANDBOX_URL/v],
    [[...connect, 'nowhere'], 'AppError', /platform must be one of /v],
    [[...connect, 'bluesky', '--channel', channel], 'AppError', /platform is x for this channel/v],
    [
      [...connect, 'bluesky', '--return-url', 'https://app.example'],
      'AppError',
      /PUNCTUAL_CONNECT_RETURN_URLS/v,
    ],
    [
      ['channel', 'connect', crypto.randomUUID(), '--platform', 'bluesky'],
      'AppError',
      /There is no workspace/v,
    ],
  ]);
});
