import test from 'ava';
import { UsageError } from '../../cli/command.ts';
import { readArguments, usage } from '../../cli/arguments.ts';
import { emptyDatabase } from '../support/database.ts';
import { runAdmin } from './admin.ts';

const none = {};

test('without a command, and with help, the commands are shown without any settings', async (t) => {
  t.deepEqual(await runAdmin([], none), { code: 0, stdout: `${usage()}\n`, stderr: '' });
  for (const args of [['help'], ['--help'], ['workspace', 'create', '--help']]) {
    t.is(readArguments(args).command, 'help');
  }

  for (const name of [
    'workspace create NAME',
    'workspace plan WORKSPACE_ID PLAN|none',
    'key create',
    'add-mastodon',
    'add-bluesky',
    'post list --overdue|--failed|--unconfirmed [--workspace WORKSPACE_ID] [--limit 50]\n',
    'post settle POST CHANNEL --published URL|--not-published\n',
    'post replay --since TIME [--until TIME] [--code CODE] [--workspace WORKSPACE_ID] [--dry-run]\n',
  ]) {
    t.true(usage().includes(name), name);
  }
});

test('an unknown command exits with 2, as text and as JSON', async (t) => {
  const { code, stdout, stderr } = await runAdmin(['workspace', 'delete', 'x'], none);
  t.deepEqual([code, stdout], [2, '']);
  t.regex(stderr, /no command "workspace delete"/v);

  const json = await runAdmin(['nope', '--json'], none);
  t.is(json.code, 2);
  t.regex(JSON.parse(json.stdout).error, /no command "nope"/v);
});

test('an error of usage is followed only by the usage of that command', (t) => {
  const errorOf = (...args: string[]): string =>
    t.throws(() => readArguments(args), { instanceOf: UsageError })?.message ?? '';
  t.regex(
    errorOf('channel', 'add-mastodon', 'w'),
    /^channel add-mastodon: --url is missing\.\n\n {2}channel add-mastodon WORKSPACE_ID [^\n]+\n {6}[^\n]+$/v,
  );
  t.is(
    errorOf('workspace', 'delete'),
    'There is no command "workspace delete". "npm run admin -- help" lists all commands.',
  );
  t.regex(errorOf('post', 'list', '--failed', '--limit', '-1'), /^post list: /v);
});

test('a missing word or option is named', (t) => {
  const wrong: [string[], RegExp][] = [
    [['nope'], /no command "nope"/v],
    [['workspace', 'create'], /NAME is missing/v],
    [['key', 'create'], /WORKSPACE_ID is missing/v],
    [['channel', 'add-mastodon', 'w'], /--url is missing/v],
    [['channel', 'add-bluesky', 'w', '--url', 'https://a.example'], /--handle is missing/v],
  ];
  for (const [args, message] of wrong) {
    t.throws(() => readArguments(args), { instanceOf: UsageError, message }, args.join(' '));
  }
});

test('wrong settings exit with 1 and are all named', async (t) => {
  const settings = {
    PORT: 'web',
    SECRET_KEY: 'short',
    PUNCTUAL_EGRESS_ALLOW_NETWORKS: 'localhost',
  };
  const { code, stdout, stderr } = await runAdmin(['workspace', 'list'], settings);
  t.is(code, 1);
  t.is(stdout, '');
  for (const name of ['DATABASE_URL', 'SECRET_KEY', 'PORT', 'PUNCTUAL_EGRESS_ALLOW_NETWORKS']) {
    t.regex(stderr, new RegExp(`^- ${name}\\b`, 'mv'));
  }

  t.notRegex(stderr, /\n\s+at /v);
});

test('an unreachable database is reported in one line, without its password', async (t) => {
  const settings = {
    DATABASE_URL: 'postgresql://postgres:hunter2@127.0.0.1:1/punctual',
    SECRET_KEY: 'ab'.repeat(32),
  };
  const { code, stderr } = await runAdmin(['workspace', 'list'], settings);
  t.is(code, 1);
  t.regex(stderr, /^The database cannot be reached.*127\.0\.0\.1:1.*\n$/v);
  t.false(stderr.includes('hunter2'));

  const json = await runAdmin(['workspace', 'list', '--json'], settings);
  t.is(json.code, 1);
  t.is(JSON.parse(json.stdout).code, 'unavailable');
});

test('a database with a mistyped name is not created, and reported in one line', async (t) => {
  const url = new URL(await emptyDatabase(t));
  const mistyped = `${url.pathname.slice(1)}_mistyped`;
  url.pathname = `/${mistyped}`;
  const settings = { DATABASE_URL: url.href, SECRET_KEY: 'ab'.repeat(32) };
  for (let run = 0; run < 2; run++) {
    const { code, stderr } = await runAdmin(['workspace', 'list'], settings);
    t.is(code, 1);
    t.is(stderr, `DATABASE_URL is refused: database "${mistyped}" does not exist.\n`);
  }
});

test('options may be anywhere, in both spellings', (t) => {
  const expected = {
    command: 'channel add-mastodon',
    values: { WORKSPACE_ID: 'w', url: 'https://a.example', 'token-file': '-t' },
  };
  const rest = ['--url', 'https://a.example', '--token-file=-t'];
  t.deepEqual(readArguments(['channel', 'add-mastodon', 'w', ...rest]), expected);
  t.deepEqual(readArguments(['channel', 'add-mastodon', ...rest, 'w']), expected);
});

test('an option without a value is a flag, and exclusive options need exactly one', (t) => {
  t.deepEqual(readArguments(['post', 'list', '--failed', '--limit', '3']), {
    command: 'post list',
    values: { failed: 'yes', limit: '3' },
  });
  for (const args of [[], ['--failed', '--overdue'], ['--failed=no'], ['--limit', '3']]) {
    const call = ['post', 'list', ...args];
    t.throws(() => readArguments(call), { instanceOf: UsageError }, args.join(' '));
  }
});

test('an extra argument, an unknown option and an option without its value are refused', (t) => {
  for (const args of [
    ['workspace', 'list', 'x'],
    ['workspace', 'create', 'a', 'b'],
    ['workspace', 'create', 'a', '--plan', 'gold'],
    ['channel', 'add-mastodon', 'w', '--url', 'https://a.example', '--token-file'],
    ['channel', 'add-mastodon', 'w', '--url', '--token-file', 't'],
    ['channel', 'add-mastodon', 'w', '--url='],
  ]) {
    t.throws(() => readArguments(args), { instanceOf: UsageError }, args.join(' '));
  }
});

test('inherited property names are not commands', (t) => {
  for (const args of [['constructor'], ['toString'], ['__proto__'], ['workspace', 'constructor']]) {
    t.throws(() => readArguments(args), { instanceOf: UsageError }, args.join(' '));
  }
});
