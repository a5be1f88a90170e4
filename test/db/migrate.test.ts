import test from 'ava';
import { migrate } from '../../db/migrate.ts';
import { migrations } from '../../db/migrations/index.ts';
import { createOrm } from '../../db/orm.ts';
import { emptyDatabase, freshDatabase } from '../support/database.ts';

test('a migrated database is exactly what the entities say', async (t) => {
  const { orm } = await freshDatabase(t);
  t.is(await orm.schema.getUpdateSchemaSQL({ wrap: false }), '');
});

test('five processes that start at once migrate an empty database once', async (t) => {
  const url = await emptyDatabase(t);
  const orms = Array.from({ length: 5 }, () => createOrm(url, { poolSize: 3 }));
  t.teardown(() => Promise.all(orms.map((orm) => orm.close())));

  await t.notThrowsAsync(Promise.all(orms.map(migrate)));

  const [first] = orms;
  const applied = await first?.em.execute('select name from migrations order by id');
  t.deepEqual(
    applied,
    migrations.map(({ name }) => ({ name })),
  );
});
