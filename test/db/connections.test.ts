import test, { type ExecutionContext } from 'ava';
import { sql } from 'kysely';
import { query } from '../../db/query.ts';
import { isDatabaseUnavailable } from '../../db/database-errors.ts';
import { migrate } from '../../db/migrate.ts';
import { migrations } from '../../db/migrations/index.ts';
import { createOrm, type Em, type Orm } from '../../db/orm.ts';
import { describeError } from '../../runtime/logger.ts';
import { beforeTests } from '../support/before-tests.ts';
import { emptyDatabase, freshDatabase, patience } from '../support/database.ts';
import { poll } from '../support/poll.ts';
import { targetOf, tcpGate, throughGate } from '../support/tcp-gate.ts';

const database = beforeTests(test, freshDatabase);
/** For tests that create tables, because another test compares the other database with the entities. */
const empty = beforeTests(test, emptyDatabase);

type PoolOptions = NonNullable<Parameters<typeof createOrm>[1]>;

function newPool(t: ExecutionContext, options: PoolOptions, url = database().url): Orm {
  const orm = createOrm(url, options);
  t.teardown(() => orm.close());
  return orm;
}

/** A pool whose connections go through a gate. */
async function throughOwnGate(t: ExecutionContext, options: PoolOptions) {
  const { url } = database();
  const gate = await tcpGate(t, targetOf(url));
  return { orm: newPool(t, options, throughGate(url, gate)), gate };
}

/** Much longer than a statement takes on a busy machine, and much shorter than the statements to be cut off. */
const queryTimeoutMs = 3000;

const planned = async (em: Em, text: string): Promise<number[]> => {
  const rows = await em.execute<{ readonly times: number }[]>(
    `select (generic_plans + custom_plans)::int as times from pg_prepared_statements where statement = ?`,
    [text],
  );
  return rows.map(({ times }) => times);
};

const echo = (word: string | null) => sql<{ said: string | null }>`select ${word}::text as said`;
const echoText = 'select $1::text as said';

test('a statement is prepared once for each connection, in and out of transactions, and runs with new values', async (t) => {
  const orm = newPool(t, { poolSize: 1 }, empty());
  const em = orm.em.fork();
  t.deepEqual(await query(em, echo('one')), [{ said: 'one' }]);
  t.deepEqual(await query(orm.em.fork(), echo("t'wo")), [{ said: "t'wo" }]);
  const third = await orm.em.fork().transactional((own) => query(own, echo(null)));
  t.deepEqual(third, [{ said: null }]);
  t.deepEqual(await planned(em, echoText), [3]);
});

test('while the server has no other connection, a statement waits for one of its pool', async (t) => {
  const role = `one_${crypto.randomUUID().replaceAll('-', '')}`;
  const { orm: owner, url } = database();
  await owner.em.execute(`create role ${role} login password 'one' connection limit 1`);
  t.teardown(() => owner.em.execute(`drop role ${role}`));
  const own = new URL(url);
  [own.username, own.password] = [role, 'one'];
  const orm = newPool(t, { poolSize: 5 }, own.href);

  const said = () => query(orm.em.fork(), sql`select pg_sleep(0.2)::text as said`);
  t.is((await Promise.all([said(), said(), said()])).length, 3);

  const other = newPool(t, { poolSize: 5 }, own.href);
  const refused = await t.throwsAsync(query(other.em.fork(), echo('x')));
  t.true(isDatabaseUnavailable(refused));
  await orm.close();
});

test('an error contains no values, and the connection stays usable', async (t) => {
  const orm = newPool(t, { poolSize: 1 }, empty());
  await orm.em.execute('create table guarded (word text primary key, length int)');
  const insert = (word: string, length: unknown) =>
    sql`insert into guarded values (${word}, ${length})`;
  await query(orm.em.fork(), insert('secret', 6));
  for (const [word, length] of [
    ['secret', 6],
    ['other', 'secret'],
  ] as const) {
    const error = await t.throwsAsync(query(orm.em.fork(), insert(word, length)));
    t.regex(error.name, /Exception$/v);
    t.notRegex(JSON.stringify(describeError(error)), /secret/v);
  }

  t.deepEqual(await query(orm.em.fork(), echo('well')), [{ said: 'well' }]);
});

test('a lost connection is replaced by one that prepares its own statements', async (t) => {
  const one = { ...patience, poolSize: 1 };
  const [orm, other] = [newPool(t, one), newPool(t, one)];
  const whoAmI = (n: number) =>
    sql<{ pid: number }>`select pg_backend_pid() as pid, ${n}::int as n`;
  const [before] = await query(orm.em.fork(), whoAmI(1));
  await query(other.em.fork(), sql`select pg_terminate_backend(${before?.pid}, 5000)`);
  // Statements fail with the old connection until this process has noticed.
  const [after] = await poll(
    () => query(orm.em.fork(), whoAmI(2)).catch(() => []),
    ({ length }) => length > 0,
  );
  t.not(after?.pid, before?.pid);
});

const thrown = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

test('a cut or refused connection counts as an unavailable database at any point', async (t) => {
  const { orm, gate } = await throughOwnGate(t, { poolSize: 5 });
  const sleeping = 'select pg_sleep(600)';
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
    t.true(isDatabaseUnavailable(error), String(error));
  }

  t.true(isDatabaseUnavailable(await thrown(orm.em.fork().execute('select 1'))));
  t.true(isDatabaseUnavailable(await thrown(orm.em.fork().transactional(() => Promise.resolve()))));
  await gate.open();
  t.deepEqual(await orm.em.fork().execute('select 1 as one'), [{ one: 1 }]);
});

test('a database without its schema counts as unavailable', async (t) => {
  const { orm } = database();
  t.true(isDatabaseUnavailable(await thrown(orm.em.fork().execute('select * from nowhere'))));
});

test('a database with a full disk, without free connections, during its start, without a route or with another password counts as unavailable', (t) => {
  const states =
    '53000 53100 53200 53300 53400 58030 25006 57014 25P03 57P03 57P01 08006 28000 28P01 3D000';
  const codes = [
    ...states.split(' '),
    'CERT_HAS_EXPIRED',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'ETIMEDOUT',
  ];
  for (const code of codes) {
    const error = Object.assign(new Error('x'), { code });
    t.true(isDatabaseUnavailable(error), code);
    t.true(isDatabaseUnavailable(new Error('y', { cause: error })), code);
    t.true(isDatabaseUnavailable(new AggregateError([new Error('z'), error])), code);
  }
});

test('an invalid statement or any other failure does not count as an unavailable database', async (t) => {
  const { orm } = database();
  for (const statement of [
    'selec 1',
    'select nothing from posts',
    `select 'x'::uuid`,
    'select 1/0',
  ]) {
    t.false(isDatabaseUnavailable(await thrown(orm.em.fork().execute(statement))), statement);
  }

  for (const other of [new Error('no'), new TypeError('no'), 'no', undefined, null]) {
    t.false(isDatabaseUnavailable(other));
  }
});

/** Loses a connection in the middle of a transaction. */
const loseTransaction = ({ orm }: { orm: Orm }, lose: () => unknown): Promise<unknown> =>
  orm.em.fork().transactional(async (em) => {
    await em.execute('select 1');
    await lose();
    await em.execute('select 2');
  });

async function mustServe(t: ExecutionContext, { orm }: { orm: Orm }): Promise<void> {
  const serve = () =>
    Promise.all(
      [1, 2, 3, 4].map((n) =>
        orm.em.fork().transactional((em) => em.execute<{ n: number }[]>(`select ${n} as n`)),
      ),
    );
  // A busy machine may exceed the pool's timeout; a connection that is lost never responds.
  const answers = await poll(
    () => serve().catch(noneInTime),
    ({ length }) => length > 0,
  );
  t.deepEqual(answers.flat(), [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
}

function noneInTime(error: unknown): [] {
  if (/timeout/v.test(String(error))) {
    return [];
  }

  throw error;
}

test('a pool recovers from more lost transactions than it has connections', async (t) => {
  const here = await throughOwnGate(t, { poolSize: 2 });
  for (let n = 0; n < 5; n += 1) {
    await t.throwsAsync(loseTransaction(here, here.gate.close));
    await here.gate.open();
  }

  await mustServe(t, here);
});

test('connections without responses are replaced, in a transaction or not', async (t) => {
  const here = await throughOwnGate(t, { poolSize: 2, queryTimeoutMs });
  await mustServe(t, here);
  here.gate.freeze();
  const silent = await Promise.allSettled([
    here.orm.em.fork().execute('select 1'),
    here.orm.em.fork().transactional((em) => em.execute('select 1')),
  ]);
  t.is(silent.map(({ status }) => status).join(), 'rejected,rejected');
  await mustServe(t, here);

  for (let round = 0; round < 2; round += 1) {
    const lost = [1, 2].map(() => loseTransaction(here, here.gate.freeze));
    const ends = await Promise.allSettled(lost);
    t.true(ends.some(({ status }) => status === 'rejected'));
    await mustServe(t, here);
  }
});

test('a statement that takes too long is an error, and the pool stays usable', async (t) => {
  const here = await throughOwnGate(t, { poolSize: 2, queryTimeoutMs });
  const slow = (): Promise<unknown> => here.orm.em.fork().execute('select pg_sleep(600)');
  for (let n = 0; n < 3; n += 1) {
    await t.throwsAsync(slow(), { message: /timeout/v });
  }

  await mustServe(t, here);
});

test('a migrated database has exactly the columns of the entities', async (t) => {
  const { orm } = database();
  const changes = await orm.schema.getUpdateSchemaSQL({ wrap: false });
  // Only migrations know indexes, constraints, triggers, functions and the tables that are no entities.
  const other =
    /^(?:create|drop) (?:unique )?(?:index|trigger|function)|^drop table|^alter (?:table .* (?:add|drop) constraint|index)/v;
  const statements = changes.split('\n').filter((line) => line !== '' && !other.test(line));
  t.deepEqual(statements, []);
});

test('five processes that start at once migrate an empty database once', async (t) => {
  const url = await emptyDatabase(t);

  await t.notThrowsAsync(Promise.all(Array.from({ length: 5 }, () => migrate(url))));

  const applied = await newPool(t, patience, url).em.execute(
    'select name from migrations order by id',
  );
  t.deepEqual(
    applied,
    migrations.map(({ name }) => ({ name })),
  );
});
