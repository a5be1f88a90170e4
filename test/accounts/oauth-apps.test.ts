import test from 'ava';
import { registeredApps } from '../../services/channels/oauth-context.ts';
import { sharedApi } from '../support/kit.ts';

const api = sharedApi(test);
const server = 'https://mastodon.example';
const callback = 'https://punctual.example/connect/callback/key';

test('one of two concurrent registrations is kept, sealed, and a forgotten one can be replaced', async (t) => {
  const { deps, orm } = api.punctual;
  const apps = registeredApps(deps, t.title);
  t.is(await apps.find(server, callback), null);
  const [first, second] = [
    { clientId: 'one', clientSecret: 'a-planted-secret' },
    { clientId: 'two', clientSecret: 'another' },
  ];
  t.deepEqual(await apps.keep(server, callback, first), first);
  t.deepEqual(await apps.keep(server, callback, second), first);
  t.is(await apps.find(server, `${callback}/other`), null);
  const rows = await orm.em
    .fork()
    .execute('select * from oauth_apps where platform = ?', [t.title]);
  t.false(JSON.stringify(rows).includes('planted'));

  // Forgetting a replaced app does not remove its replacement.
  await apps.forget(server, callback, second);
  t.deepEqual(await apps.find(server, callback), first);
  await apps.forget(server, callback, first);
  t.deepEqual(await apps.keep(server, callback, second), second);
});
