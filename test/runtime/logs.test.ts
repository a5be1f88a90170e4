import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { describeError } from '../../runtime/logger.ts';
import { beforeTests } from '../support/before-tests.ts';
import { freshDatabase } from '../support/database.ts';

const logger = new URL('../../runtime/logger.ts', import.meta.url).href;

/** Starts a process that logs. */
function program(t: ExecutionContext, code: string): ChildProcess {
  const lines = `import { createLogger } from ${JSON.stringify(logger)};
    const log = createLogger('test', 'info');
    ${code}`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', lines], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  return child;
}

async function output(t: ExecutionContext, code: string): Promise<string> {
  const { stdout } = program(t, code);
  return stdout ? text(stdout) : '';
}

test('a line is JSON with its logger’s name, and the last one before an exit is written', async (t) => {
  const written = await output(
    t,
    `log.info({ post: 1 }, 'first'); log.warn('last'); process.exit(0);`,
  );
  const lines = written
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  t.is(lines.length, 2);
  t.like(lines[0], { name: 'test', level: 30, post: 1, msg: 'first' });
  t.like(lines[1], { level: 40, msg: 'last' });
});

test('lines below the level are not written, and credentials are redacted', async (t) => {
  const written = await output(
    t,
    `log.debug('quiet');
     log.info({ a: { authorization: 'hidden-1', accessToken: 'hidden-2', password: 'hidden-3' } }, 'x');
     log.info({ a: { appPassword: 'hidden-4', secret: 'hidden-5' } }, 'x');`,
  );
  t.is(written.trim().split('\n').length, 2);
  t.notRegex(written, /hidden|quiet/v);
});

test('the link to a file is cut in every part of a line', async (t) => {
  const token = 'aB3'.repeat(10) + 'xy';
  const written = await output(
    t,
    `const link = 'https://punctual.example/files/${token}/cat.png';
     log.info({ link, deep: { error: new Error('no ' + link) } }, 'see ' + link);`,
  );
  t.false(written.includes(token), written);
  t.like(JSON.parse(written), { link: 'https://punctual.example/files/…/cat.png' });
});

test('a process whose log is no longer read still ends on SIGTERM', async (t) => {
  const child = program(
    t,
    `process.once('SIGTERM', () => { log.info('stopping'); log.info('stopped'); process.exit(0); });
     setInterval(() => undefined, 1000);
     log.info('ready');`,
  );
  const ended = once(child, 'exit');
  await once(child.stdout ?? child, 'data');
  child.stdout?.destroy();
  await new Promise((resolve) => child.stdout?.once('close', resolve));

  child.kill('SIGTERM');

  t.deepEqual(await ended, [0, null]);
});

const database = beforeTests(test, freshDatabase);
const marker = 'words of a post';

const thrown = async (work: () => Promise<unknown>): Promise<unknown> => {
  try {
    await work();
  } catch (error) {
    return error;
  }

  throw new Error('Nothing was thrown.');
};

test('the log of a database error contains no value, for any failed statement', async (t) => {
  const { orm } = database();
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
    ['22021', 'select ?', [`${marker}\0`]],
  ];
  for (const [code, sql, values] of failing) {
    const description = describeError(await thrown(() => run(sql, values)));
    t.is(description.code, code, sql);
    t.false(JSON.stringify(description).includes(marker), JSON.stringify(description));
  }
});

test('the log of a database error has its kind and its table, column or constraint', async (t) => {
  const { orm } = database();
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

test('any other error is logged with its name, message, code and stack', (t) => {
  const error = Object.assign(new TypeError('No such thing.'), { code: 'ENOTHING' });
  const description = describeError(error);
  t.like(description, { name: 'TypeError', message: 'No such thing.', code: 'ENOTHING' });
  t.regex(description.stack ?? '', /logs\.test\.ts/v);
});

test('a thrown value that is not an Error is logged by its type only', (t) => {
  for (const value of ['secret', 42, undefined, { token: 'secret' }]) {
    t.deepEqual(describeError(value), { name: 'NotAnError', message: typeof value });
  }
});
