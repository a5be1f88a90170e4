import test from 'ava';
import { ask } from '../../db/ask.ts';
import { createOrm, type Em } from '../../db/orm.ts';
import { describeError } from '../../runtime/describe-error.ts';
import { emptyDatabase } from '../support/database.ts';
import { poll } from '../support/poll.ts';

type Prepared = { readonly times: number };

const planned = async (em: Em, text: string): Promise<number[]> => {
  const rows = await em.execute<Prepared[]>(
    `select (generic_plans + custom_plans)::int as times from pg_prepared_statements where statement = ?`,
    [text],
  );
  return rows.map(({ times }) => times);
};

const echo = 'select $1::text as said';

test('a statement is prepared once for a connection, in and out of transactions, and answers each time anew', async (t) => {
  const orm = createOrm(await emptyDatabase(t), { poolSize: 1 });
  t.teardown(() => orm.close());
  const em = orm.em.fork();
  t.deepEqual(await ask(em, echo, ['one']), [{ said: 'one' }]);
  t.deepEqual(await ask(orm.em.fork(), echo, ["t'wo"]), [{ said: "t'wo" }]);
  const third = await orm.em.fork().transactional((own) => ask(own, echo, [null]));
  t.deepEqual(third, [{ said: null }]);
  t.deepEqual(await planned(em, echo), [3]);
});

test('what is asked within a transaction is part of it', async (t) => {
  const orm = createOrm(await emptyDatabase(t), { poolSize: 2 });
  t.teardown(() => orm.close());
  await orm.em.execute('create table words (word text primary key)');
  const insert = 'insert into words values ($1)';
  await t.throwsAsync(
    orm.em.fork().transactional(async (em) => {
      await ask(em, insert, ['taken back']);
      throw new Error('No.');
    }),
    { message: 'No.' },
  );
  await ask(orm.em.fork(), insert, ['kept']);
  t.deepEqual(await orm.em.execute('select word from words'), [{ word: 'kept' }]);
});

test('an error says nothing of the values, and the connection goes on', async (t) => {
  const orm = createOrm(await emptyDatabase(t), { poolSize: 1 });
  t.teardown(() => orm.close());
  await orm.em.execute('create table words (word text primary key, length int)');
  const insert = 'insert into words values ($1, $2)';
  await ask(orm.em.fork(), insert, ['secret', 6]);
  for (const values of [
    ['secret', 6],
    ['other', 'secret'],
  ]) {
    const error = await t.throwsAsync(ask(orm.em.fork(), insert, values));
    t.regex(error.name, /Exception$/v);
    t.notRegex(JSON.stringify(describeError(error)), /secret/v);
  }

  t.deepEqual(await ask(orm.em.fork(), echo, ['well']), [{ said: 'well' }]);
});

test('a connection that was lost is replaced by one that prepares for itself', async (t) => {
  const url = await emptyDatabase(t);
  const [orm, other] = [createOrm(url, { poolSize: 1 }), createOrm(url, { poolSize: 1 })];
  t.teardown(() => Promise.all([orm.close(), other.close()]));
  const whoAmI = 'select pg_backend_pid() as pid, $1::int as n';
  const [before] = await ask<{ pid: number }>(orm.em.fork(), whoAmI, [1]);
  await ask(other.em.fork(), 'select pg_terminate_backend($1, 5000)', [before?.pid]);
  // Until this process has noticed, what it asks is lost with the connection.
  const [after] = await poll(
    () => ask<{ pid: number }>(orm.em.fork(), whoAmI, [2]).catch(() => []),
    ({ length }) => length > 0,
  );
  t.not(after?.pid, before?.pid);
});
