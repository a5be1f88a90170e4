import test from 'ava';
import { describeError } from '../../runtime/describe-error.ts';
import { freshDatabase } from '../support/database.ts';

const marker = 'words of a post';

const thrown = async (work: () => Promise<unknown>): Promise<unknown> => {
  try {
    await work();
  } catch (error) {
    return error;
  }

  throw new Error('Nothing was thrown.');
};

test('what a log has of a database error quotes no value, however the statement fails', async (t) => {
  const { orm } = await freshDatabase(t);
  const id = crypto.randomUUID();
  const run = (sql: string, values: unknown[] = []): Promise<unknown> =>
    orm.em.fork().execute(sql, values);
  await run(`insert into workspaces (id, name, created_at) values (?, ?, now())`, [id, marker]);
  const post = `insert into posts (id, body, status, created_at, updated_at`;
  const failing: [string, string, unknown[]][] = [
    ['22P02', 'select * from posts where id = ?', [marker]],
    ['22P02', 'select * from posts where id = ?', [`${marker} - ${marker}\n - ${marker}`]],
    ['22P02', 'select ?::int', [marker]],
    ['22P02', 'select ?::jsonb', [`{"a": "${marker}`]],
    ['22007', 'select ?::timestamptz', [marker]],
    ['23502', `${post}) values (?, ?, 'draft', now(), now())`, [id, marker]],
    [
      '23503',
      `${post}, workspace_id) values (?, ?, 'draft', now(), now(), ?)`,
      [id, marker, crypto.randomUUID()],
    ],
    ['23505', `insert into workspaces (id, name, created_at) values (?, ?, now())`, [id, marker]],
    ['42P01', 'select * from nowhere where name = ?', [marker]],
    ['42703', 'select nothing from posts where body = ?', [marker]],
    ['42601', `select '${marker}' '${marker}'`, []],
    ['42601', `selec '${marker}'`, []],
    ['08P01', 'select ?', [`${marker}\0`]],
  ];
  for (const [code, sql, values] of failing) {
    const description = describeError(await thrown(() => run(sql, values)));
    t.is(description.code, code, sql);
    t.false(JSON.stringify(description).includes(marker), JSON.stringify(description));
  }
});

test('a database error still says what kind it is and which table, column or rule', async (t) => {
  const { orm } = await freshDatabase(t);
  const run = (sql: string): Promise<unknown> => thrown(() => orm.em.fork().execute(sql));
  const twice = `insert into workspaces (id, created_at) values ('${crypto.randomUUID()}', now())`;
  await orm.em.fork().execute(twice);

  t.like(describeError(await run(twice)), {
    name: 'UniqueConstraintViolationException',
    code: '23505',
    message: 'duplicate key value violates unique constraint "workspaces_pkey"',
  });
  t.is(
    describeError(await run('select * from nowhere')).message,
    'relation "nowhere" does not exist',
  );
  t.is(
    describeError(await run(`select 'x'::uuid`)).message,
    'invalid input syntax for type uuid: …',
  );
});

test('any other error is described by its name, message, code and place', (t) => {
  const error = Object.assign(new TypeError('No such thing.'), { code: 'ENOTHING' });
  const description = describeError(error);
  t.like(description, { name: 'TypeError', message: 'No such thing.', code: 'ENOTHING' });
  t.regex(description.stack ?? '', /describe-error\.test\.ts/v);
});

test('what is thrown and is no error is named by its kind only', (t) => {
  for (const value of ['secret', 42, undefined, { token: 'secret' }]) {
    t.deepEqual(describeError(value), { name: 'NotAnError', message: typeof value });
  }
});
