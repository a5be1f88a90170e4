import { readFile } from 'node:fs/promises';
import { Migration } from '@mikro-orm/migrations';
import type { ExecutionContext } from 'ava';
import { Client } from 'pg';
import { migrate } from '../../db/migrate.ts';
import { migrations } from '../../db/migrations/index.ts';
import { createOrm } from '../../db/orm.ts';
import { adminOf } from '../cli/admin/admin.ts';
import { startApiProcess } from '../support/api-process.ts';
import { emptyDatabase, freshDatabase, patience } from '../support/database.ts';
import { holdLock } from '../support/hold-lock.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startApi } from '../support/punctual.ts';
import { rawCall } from '../support/raw-call.ts';
import { ended, spawnWorker } from '../support/worker-process.ts';

const test = needs('temporal');

/** Takes longer than a statement of the product may. */
class SlowMigration extends Migration {
  override up(): void {
    this.addSql('create table slow (id int)');
    this.addSql('select pg_sleep(21)');
  }
}

test.serial(
  'a migration and a process that waits for it may take longer than any other statement',
  async (t) => {
    const url = await emptyDatabase(t);
    migrations.push({ name: 'migration-9999-slow', class: SlowMigration });
    const names: string[] = [];
    try {
      const both = [migrate(url, (name) => names.push(name)), migrate(url, (name) => names.push(name))]; // prettier-ignore
      await t.notThrowsAsync(Promise.all(both));
    } finally {
      migrations.pop();
    }

    t.deepEqual(names, [...migrations.map(({ name }) => name), 'migration-9999-slow']);
    await t.throwsAsync(migrate(url), {
      name: 'OtherSchemaError',
      message: /migration-9999-slow/v,
    });
  },
);

test.serial('a migration that fails leaves the schema unchanged', async (t) => {
  const { url, orm } = await freshDatabase(t);
  class Broken extends Migration {
    override up(): void {
      this.addSql('create table half (id int)');
      this.addSql('select 1 / 0');
    }
  }
  migrations.push({ name: 'migration-9999-broken', class: Broken });
  await t.throwsAsync(migrate(url), { message: /division by zero/v });
  migrations.pop();
  await t.notThrowsAsync(migrate(url));
  t.deepEqual(await orm.em.fork().execute(`select to_regclass('half') as half`), [{ half: null }]);
});

/** The last migration of commit ffedd9cb. */
const last = 'migration-0046-dropped-references';

/** A database that has run these migrations and the schema of commit ffedd9cb. */
async function olderDatabase(
  t: ExecutionContext,
  names: readonly string[],
  template?: string,
): Promise<string> {
  const url = await emptyDatabase(t, template);
  const orm = createOrm(url, patience);
  await orm.em.execute(
    await readFile(new URL('../../db/migrations/baseline.sql', import.meta.url), 'utf8'),
  );
  await orm.em.execute(
    'create table migrations (id serial primary key, name varchar(255), executed_at timestamptz(6) default now() not null)',
  );
  for (const name of names) {
    await orm.em.execute(`insert into migrations (name) values ('${name}')`);
  }
  await orm.close();
  return url;
}

test('a database of an earlier checkout is recognized, and only what follows its migrations runs', async (t) => {
  const names = ['migration-0001-initial', 'migration-0045-same-texts'];
  const url = await olderDatabase(t, [...names, last]);
  const ran: string[] = [];
  await migrate(url, (name) => ran.push(name));
  t.deepEqual(
    ran,
    migrations.slice(1).map(({ name }) => name),
  );

  const tooOld = await olderDatabase(t, names);
  await t.throwsAsync(migrate(tooOld), {
    name: 'OtherSchemaError',
    message: /Start commit ffedd9cb once/v,
  });

  const between = await olderDatabase(t, [last, 'migration-0047-operator-key-expiry']); // prettier-ignore
  await t.throwsAsync(migrate(between), { message: /Start commit 773fd38f once/v });
});

test('an upgrade during a backup waits for it, and keeps no call waiting for longer than a few seconds', async (t) => {
  const url = await olderDatabase(t, ['migration-0001-initial', 'migration-0045-same-texts', last]); // prettier-ignore
  const orm = createOrm(url, patience);
  t.teardown(() => orm.close());
  const backup = await holdLock(t, orm, 'lock table posts, workspaces in access share mode');
  const ran: string[] = [];
  const upgrade = migrate(url, (name) => ran.push(name));
  await poll(backup.waiting, (sessions) => sessions > 0);
  // Waits behind the upgrade, with the timeout of the product's calls.
  const client = new Client({ connectionString: url, query_timeout: 5000 });
  await client.connect();
  t.teardown(() => client.end());
  await t.notThrowsAsync(client.query('select from posts'));
  backup.release();
  await upgrade;
  t.is(new Set(ran).size, migrations.length - 1);
  t.true(ran.length >= migrations.length, 'The upgrade was repeated.');
});

test('no process of an older version starts on a newer schema, and each names the migrations and the next step', async (t) => {
  const punctual = await startApi(t);
  const orm = createOrm(punctual.databaseUrl, patience);
  await orm.em.execute(
    `insert into migrations (name, executed_at) values ('migration-9998-of-tomorrow', now())`,
  );
  await orm.close();
  const newer = /migrations that this version of Punctual does not know: migration-9998-of-tomorrow\. .*Start that version or a later one/v; // prettier-ignore

  const api = await startApiProcess(t, {
    ...punctual.temporalEnv,
    DATABASE_URL: punctual.databaseUrl,
    SECRET_KEY: punctual.secretKey,
  });
  const ready = await rawCall(`${api.url}/readyz`).catch(() => null); // It may have exited.
  t.not(ready?.status, 200);
  const worker = spawnWorker(t, punctual, []);
  await Promise.all([ended(api.child), ended(worker.child)]);
  t.deepEqual([api.child.exitCode, worker.child.exitCode], [1, 1]);
  t.regex(api.log(), newer);
  t.notRegex(api.log(), /the database is ready/v);
  t.regex(worker.output(), newer);
  for (const words of [['migrate'], ['workspace', 'list']]) {
    const admin = await adminOf(punctual).run(...words);
    t.is(admin.code, 1);
    t.regex(admin.stderr, new RegExp(`^The database has ${newer.source}`, 'v'));
  }
});
