import test from 'ava';
import { sharedApi } from '../support/kit.ts';
import { addFakeChannel, storeChannel } from '../support/seed.ts';
import { adminOf, areRefused } from './admin.ts';

const api = sharedApi(test);
const call = (...words: readonly string[]) => adminOf(api.punctual).call(...words);

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
    [[...connect, 'mastodon', '--handle', 'ana'], 'AppError', /for an account of Mastodon/v],
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

test('an account of the sandbox is connected again at the sandbox, also when its network is not configured', async (t) => {
  const { workspaceId } = await api.newClient();
  const { deps, orm } = api.punctual;
  const baseUrl = 'http://sandbox.example/x';
  const channel = await addFakeChannel(deps, workspaceId, 'x', { baseUrl });
  const admin = adminOf(api.punctual, 'http://sandbox.example');
  await admin.call('channel', 'connect', workspaceId, '--platform', 'x', '--channel', channel);
  const sql = 'select at_sandbox, channel_id from connect_links where workspace_id = ?';
  const links = await orm.em.fork().execute(sql, [workspaceId]);
  t.deepEqual(links, [{ at_sandbox: true, channel_id: channel }]);
});
