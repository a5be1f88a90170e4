import test from 'ava';
import { connectChannel } from '../../cli/channels.ts';
import type { CommandDeps } from '../../cli/command.ts';
import { createDemo } from '../../cli/create-demo.ts';
import { openNetworks } from '../../networks/registry.ts';
import { createSealer } from '../../runtime/secrets.ts';
import { openSandbox } from '../sandbox/open-sandbox.ts';
import { egressTo } from '../networks/connection.ts';
import { freshDatabase } from '../support/database.ts';

type Row = { id: string; base_url: string; remote_id: string };

test('each start moves the demo channels to the sandbox, keeps their ids, and leaves other accounts of that workspace alone', async (t) => {
  const { orm } = await freshDatabase(t);
  const sealer = createSealer('0'.repeat(64));
  const networks = openNetworks({});
  const demoAt = (url: string) => {
    const deps = { em: orm.em.fork(), networks, egress: egressTo(t, url), sealer } as CommandDeps;
    return createDemo(deps, { 'sandbox-url': url });
  };
  const channels = (): Promise<Row[]> =>
    orm.em.fork().execute<Row[]>('select id, base_url, remote_id from channels order by id');
  const [first, second] = [await openSandbox(t), await openSandbox(t)];
  const { data } = await demoAt(first.url);
  const made = await channels();
  t.is(made.length, 2);

  const real = {
    baseUrl: 'https://social.example',
    remoteId: '777',
    handle: '@ana@social.example',
    credentials: { accessToken: 'hers' },
    session: null,
    settings: {},
  };
  const workspaceId = String((data as { workspace_id: string }).workspace_id);
  const own = await connectChannel(orm.em.fork(), sealer, workspaceId, 'mastodon', real);
  await demoAt(second.url);

  const all = await channels();
  t.is(all.find(({ id }) => id === own.id)?.base_url, 'https://social.example');
  t.deepEqual(
    all.filter(({ id }) => id !== own.id),
    made.map(({ id, remote_id }) => ({ id, base_url: second.url, remote_id })),
  );

  const nowhere = 'http://127.0.0.1:1';
  await t.throwsAsync(demoAt(nowhere));
  t.deepEqual(await channels(), all, 'a sandbox that is not there moves nothing');
});
