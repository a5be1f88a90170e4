import test from 'ava';
import { connectChannel } from '../../../services/channels/connect-channel.ts';
import { sharedApi } from '../../support/kit.ts';

const sandboxUrl = 'http://127.0.0.1:4310';
const api = sharedApi(test, { sandboxUrl });

async function connected(more: object) {
  const client = await api.newClient();
  const connect = async (again: object) => {
    const { orm, sealer } = api.punctual.deps;
    const account = {
      baseUrl: 'https://social.test',
      remoteId: '1',
      handle: '@ana@social.test',
      credentials: {},
      session: null,
      settings: {},
      ...again,
    };
    return connectChannel(orm.em.fork(), sealer, client.workspaceId, 'mastodon', account);
  };
  const { id } = await connect(more);
  const show = async () => (await client.get(`/channels/${id}`)).body.channel;
  return { connect, show };
}

test('a channel shows its display name, its public page and whether it is at the sandbox', async (t) => {
  const real = await connected({ displayName: 'Ana' });
  t.like(await real.show(), {
    display_name: 'Ana',
    profile_url: 'https://social.test/@ana',
    server: 'social.test',
    sandbox: false,
  });

  for (const baseUrl of [sandboxUrl, `${sandboxUrl}/x`]) {
    const { show } = await connected({ baseUrl });
    t.like(await show(), { display_name: null, sandbox: true });
  }
  const { show } = await connected({ baseUrl: `${sandboxUrl}0` });
  t.like(await show(), { sandbox: false }, 'another port');
});

test('a reconnected account gets its current name', async (t) => {
  const { connect, show } = await connected({ displayName: 'Ana' });
  await connect({ displayName: 'Ana B.' });
  t.like(await show(), { display_name: 'Ana B.' });
  await connect({});
  t.like(await show(), { display_name: null });
});

test('a display name is one short line of text, whatever the network says', async (t) => {
  const cases: readonly (readonly [unknown, string | null])[] = [
    [' Ana\n\u0000 B.\u202E ', 'Ana B.'],
    ['\u{1F469}\u200D\u{1F52C} Ana', '\u{1F469}\u200D\u{1F52C} Ana'],
    ['\u{1F600}'.repeat(300), '\u{1F600}'.repeat(200)],
    ['\uD800', '\uFFFD'],
    [' \u202E ', null],
    ['', null],
    [{ name: 'Ana' }, null],
    [null, null],
  ];
  for (const [displayName, shown] of cases) {
    const { show } = await connected({ displayName });
    t.is((await show()).display_name, shown, JSON.stringify(displayName));
  }
});
