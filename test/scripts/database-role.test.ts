import path from 'node:path';
import { Client } from 'pg';
import { migrate } from '../../db/migrate.ts';
import { createOrm } from '../../db/orm.ts';
import { startGuard } from '../../scripts/parts/guard.ts';
import { startPostgres } from '../../scripts/parts/postgres.ts';
import { ensureRole, roleUrl } from '../../scripts/parts/postgres-role.ts';
import { freePort } from '../../scripts/ports.ts';
import { patience } from '../support/database.ts';
import { needs } from '../support/needs.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const test = needs('postgres');
const [password, rolePassword] = ['a'.repeat(32), 'b'.repeat(32)];

test('a role without superuser rights takes over a database of an earlier version', async (t) => {
  const guard = startGuard();
  t.teardown(() => guard.endAll());
  const folder = await temporaryFolder(t);
  const address = { port: await freePort(), password, database: 'punctual' };
  const { signal } = new AbortController();
  const superuserUrl = await startPostgres(
    {
      ...address,
      cluster: path.join(folder, 'postgres'),
      logFile: path.join(folder, 'postgres.log'),
      env: process.env,
      rank: 0,
      settings: { fsync: 'off' },
    },
    { guard, say: () => undefined, signal },
  );
  const before = createOrm(superuserUrl, patience);
  await migrate(superuserUrl);
  await before.em.execute(
    `insert into workspaces (id, name, created_at) values (gen_random_uuid(), 'Kept', now())`,
  );
  await before.em.execute('create table notes (id bigserial primary key, at int)');
  await before.close();

  await ensureRole(superuserUrl, rolePassword);
  await ensureRole(superuserUrl, rolePassword); // Each start does this.

  const url = roleUrl(address, rolePassword);
  const orm = createOrm(url, patience);
  t.teardown(() => orm.close());
  await migrate(url);
  const run = (sql: string) => orm.em.fork().execute(sql);
  t.deepEqual(await run('select name from workspaces'), [{ name: 'Kept' }]);
  t.deepEqual(await run('select rolsuper from pg_roles where rolname = current_user'), [
    { rolsuper: false },
  ]);
  await run('select system_identifier from pg_control_system()'); // Each sweep of media runs this.
  await run('insert into notes (at) values (1)');
  await run('alter table workspaces add column later int');
  await run('create table more (id int)');
  for (const forbidden of [
    `copy notes (at) from program 'echo 1'`,
    `select pg_read_file('PG_VERSION')`,
    'create role other superuser',
    `alter system set log_statement = 'all'`,
  ]) {
    await t.throwsAsync(run(forbidden), { message: /permission denied|must be/v }, forbidden);
  }

  const asSuperuser = new Client({
    connectionString: superuserUrl.replace(password, rolePassword),
  });
  await t.throwsAsync(asSuperuser.connect(), { message: /authentication failed/v });
});
