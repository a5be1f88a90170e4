import path from 'node:path';
import test from 'ava';
import { connectChannel } from '../../../services/channels/connect-channel.ts';
import type { CommandDeps } from '../../../cli/admin/command.ts';
import { createWorkspace } from '../../../cli/admin/workspaces.ts';
import { ApiKey } from '../../../db/entities/workspaces.ts';
import { openNetworks } from '../../../networks/registry.ts';
import { createSealer, hashApiKey } from '../../../runtime/secrets.ts';
import { openSandbox } from '../../sandbox/open-sandbox.ts';
import { egressTo } from '../../networks/connection.ts';
import { freshDatabase } from '../../support/database.ts';
import { usualQuotas } from '../../support/punctual.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { callAdmin } from './admin.ts';

type Row = { id: string; base_url: string; remote_id: string };

test('each start moves the demo channels to the sandbox, keeps their ids, and does not change other accounts of that workspace', async (t) => {
  const { orm } = await freshDatabase(t);
  const sealer = createSealer('0'.repeat(64));
  const networks = openNetworks({});
  const keyFile = path.join(await temporaryFolder(t), 'demo-api-key');
  const demoAt = (url: string) => {
    const deps = {
      orm,
      em: orm.em.fork(),
      networks,
      egress: egressTo(t, url),
      sealer,
      publicUrl: 'http://127.0.0.1:3000',
      now: () => new Date(),
    } as CommandDeps;
    return callAdmin(deps, 'demo', '--sandbox-url', url, '--key-file', keyFile);
  };
  const channels = (): Promise<Row[]> =>
    orm.em.fork().execute<Row[]>('select id, base_url, remote_id from channels order by id');
  const [first, second] = [await openSandbox(t), await openSandbox(t)];
  const { data } = await demoAt(first.url);
  const made = await channels();
  t.is(made.length, Object.keys(networks.connectors).length);

  const real = {
    baseUrl: 'https://social.example',
    remoteId: '777',
    handle: '@ana@social.example',
    credentials: { accessToken: 'hers' },
    session: null,
    settings: {},
  };
  const workspaceId = String(data.workspace_id);
  const own = await connectChannel(orm.em.fork(), sealer, workspaceId, 'mastodon', real);
  await demoAt(second.url);

  const all = await channels();
  t.is(all.find(({ id }) => id === own.id)?.base_url, 'https://social.example');
  t.deepEqual(
    all.filter(({ id }) => id !== own.id),
    made.map(({ id, base_url, remote_id }) => ({
      id,
      base_url: base_url.replace(first.url, second.url),
      remote_id,
    })),
  );

  const secrets = (): Promise<object[]> =>
    orm.em.fork().execute('select id, sealed_credentials from channels order by id');
  const known = await secrets();
  await demoAt(second.url);
  t.deepEqual(await secrets(), known, 'a start does not change connected ones');

  const nowhere = 'http://127.0.0.1:1';
  await t.throwsAsync(demoAt(nowhere));
  t.deepEqual(await channels(), all, 'an unreachable sandbox changes nothing');
});

test('each start gives a valid API key, also after a start that was interrupted or a revoked key', async (t) => {
  const { orm } = await freshDatabase(t);
  const { url } = await openSandbox(t);
  const folder = await temporaryFolder(t);
  const start = async (keyFile: string): Promise<string> => {
    const deps = {
      orm,
      em: orm.em.fork(),
      networks: openNetworks({}),
      egress: egressTo(t, url),
      sealer: createSealer('0'.repeat(64)),
      publicUrl: 'http://127.0.0.1:3000',
      now: () => new Date(),
    } as CommandDeps;
    const { data } = await callAdmin(deps, 'demo', '--sandbox-url', url, '--key-file', keyFile);
    return String(data.api_key);
  };
  const works = async (key: string): Promise<boolean> =>
    (await orm.em.fork().count(ApiKey, { hash: hashApiKey(key), revokedAt: null })) === 1;

  const key = await start(path.join(folder, 'key'));
  t.true(await works(key));
  t.is(await start(path.join(folder, 'key')), key);

  const another = await start(path.join(folder, 'lost'));
  t.true(await works(another));
  t.not(another, key);

  await orm.em.fork().nativeUpdate(ApiKey, { hash: hashApiKey(key) }, { revokedAt: new Date() });
  t.true(await works(await start(path.join(folder, 'key'))));
});

test('one command gives a workspace a test channel of each network, and the same one when it is repeated', async (t) => {
  const { orm } = await freshDatabase(t);
  const { url } = await openSandbox(t);
  const networks = openNetworks({});
  const sealer = createSealer('0'.repeat(64));
  const shared = { networks, egress: egressTo(t, url), sealer, quotas: usualQuotas };
  const workspaceId = await createWorkspace(orm.em.fork(), 'Test');
  const add = async (platform: string, sandboxUrl: string | null, ...more: string[]) => {
    const deps = { ...shared, em: orm.em.fork(), sandboxUrl } as CommandDeps;
    const words = ['channel', 'add-sandbox', workspaceId, '--platform', platform, ...more];
    return (await callAdmin(deps, ...words)).data.channel;
  };
  for (const platform of Object.keys(networks.connectors)) {
    const channel = await add(platform, url);
    t.is(channel.platform, platform);
    t.deepEqual(await add(platform, null, '--url', `${url}/`), channel, platform);
  }

  await t.throwsAsync(add('mastodon', null), { name: 'UsageError', message: /--url is missing/ });
  await t.throwsAsync(add('myspace', url), { name: 'UsageError', message: /not "myspace"/ });
});
