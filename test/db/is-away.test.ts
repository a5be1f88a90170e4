import test from 'ava';
import { isDatabaseAway } from '../../db/is-away.ts';
import { createOrm } from '../../db/orm.ts';
import { freshDatabase } from '../support/database.ts';
import { targetOf, tcpGate, throughGate } from '../support/tcp-gate.ts';

const thrown = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

test('a cut or refused connection means that the database is away, wherever it strikes', async (t) => {
  const { url } = await freshDatabase(t);
  const gate = await tcpGate(t, targetOf(url));
  const orm = createOrm(throughGate(url, gate), { poolSize: 5 });
  t.teardown(() => orm.close());
  const sleeping = 'select pg_sleep(20)';
  const running = [
    thrown(orm.em.fork().execute(sleeping)),
    thrown(orm.em.fork().transactional((em) => em.execute(sleeping))),
    thrown(
      orm.em.fork().transactional(async (em) => {
        await em.execute('select 1');
        await gate.close();
        await em.execute('select 2');
      }),
    ),
  ];
  for (const error of await Promise.all(running)) {
    t.true(isDatabaseAway(error), String(error));
  }

  t.true(isDatabaseAway(await thrown(orm.em.fork().execute('select 1'))));
  t.true(isDatabaseAway(await thrown(orm.em.fork().transactional(() => Promise.resolve()))));
  await gate.open();
  t.deepEqual(await orm.em.fork().execute('select 1 as one'), [{ one: 1 }]);
});

test('a session that the operator ends means the same', async (t) => {
  const { orm } = await freshDatabase(t);
  const sleeping = thrown(orm.em.fork().execute('select pg_sleep(20)'));
  const end = `select pg_terminate_backend(pid) from pg_stat_activity
               where datname = current_database() and query like 'select pg_sleep%'`;
  let ended: unknown[] = [];
  while (ended.length === 0) {
    ended = await orm.em.fork().execute<unknown[]>(end);
  }

  t.true(isDatabaseAway(await sleeping));
});

test('a database whose schema is not there yet is as good as away', async (t) => {
  const { orm } = await freshDatabase(t);
  t.true(isDatabaseAway(await thrown(orm.em.fork().execute('select * from nowhere'))));
});

test('a database that has no connection left, starts up or cannot be routed to is away as well', (t) => {
  const codes = ['53300', '57P03', '57P01', '08006', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT'];
  for (const code of codes) {
    const error = Object.assign(new Error('x'), { code });
    t.true(isDatabaseAway(error), code);
    t.true(isDatabaseAway(new Error('y', { cause: error })), code);
    t.true(isDatabaseAway(new AggregateError([new Error('z'), error])), code);
  }
});

test('a mistake in a statement, or any other failure, is none of that', async (t) => {
  const { orm } = await freshDatabase(t);
  for (const sql of ['selec 1', 'select nothing from posts', `select 'x'::uuid`, 'select 1/0']) {
    t.false(isDatabaseAway(await thrown(orm.em.fork().execute(sql))), sql);
  }

  for (const other of [new Error('no'), new TypeError('no'), 'no', undefined, null]) {
    t.false(isDatabaseAway(other));
  }
});
