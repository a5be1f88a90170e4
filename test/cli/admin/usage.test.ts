import test from 'ava';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import {
  readArguments,
  usage,
  withSecret,
  type SecretSources,
} from '../../../cli/admin/arguments.ts';
import { UsageError, type Command } from '../../../cli/admin/command.ts';
import { commandNamed } from '../../../cli/admin/commands.ts';
import { emptyDatabase } from '../../support/database.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import manifest from '../../../package.json' with { type: 'json' };
import { runAdmin } from './admin.ts';

const none = {};

test('without a command, and with help, the commands are shown without any settings', async (t) => {
  t.deepEqual(await runAdmin([], none), { code: 0, stdout: `${usage()}\n`, stderr: '' });
  for (const args of [['help'], ['--help'], ['workspace', 'create', '--help']]) {
    t.is(readArguments(args).command, 'help');
  }

  const helpOf = (...args: string[]): string => usage(readArguments(args).values['about']);
  t.is(helpOf('nothing', '--help'), usage());
  for (const args of ['help quota set', 'quota set --help', 'quota set W scheduled -1 --help']) {
    t.regex(helpOf(...args.split(' ')), /^[^\n]+\n\n {2}quota set WORKSPACE_ID [^\n]+\n[^\n]+$/v);
  }

  t.deepEqual(helpOf('help', 'quota').match(/^ {2}\w+ \w+/gmv), ['  quota show', '  quota set']);

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

test("--version prints the product's version", async (t) => {
  const { version } = manifest;
  t.deepEqual(await runAdmin(['--version'], none), { code: 0, stdout: `${version}\n`, stderr: '' });
});

test('an unknown command exits with 2, as text and as JSON', async (t) => {
  const { code, stdout, stderr } = await runAdmin(['workspace', 'merge', 'x'], none);
  t.deepEqual([code, stdout], [2, '']);
  t.regex(stderr, /no command "workspace merge"/v);

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
    errorOf('workspace', 'merge'),
    'There is no command "workspace merge". "npm run admin -- help" lists all commands.',
  );
  for (const args of ['post list --failed --limit -1', 'quota set W scheduled -1']) {
    t.regex(errorOf(...args.split(' ')), /^\w+ \w+: -1 is negative\. Give 0 or more\.$/v);
  }
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

test('an id may be in upper case', (t) => {
  const id = '0192F0C4-5A7E-7C3B-9D21-6F0E8A4B1C2D';
  t.deepEqual(readArguments(['post', 'show', id]).values, { POST: id.toLowerCase() });
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

const secret = 'T0ken-of-mine';
const commandOf = (name: string): Command => {
  const command = commandNamed(name);
  if (!command) {
    throw new Error(`No command ${name}.`);
  }

  return command;
};
const mastodon = commandOf('channel add-mastodon');
const words = ['channel', 'add-mastodon', 'w', '--url', 'https://a.example'];

/** The input that a program pipes in. */
const piped = (input: string): SecretSources => ({
  input: new PassThrough().end(input),
  output: new PassThrough(),
});

test('a secret in the arguments is refused with advice, and not repeated', async (t) => {
  for (const given of [['--token', secret], [`--token=${secret}`], ['--token=']]) {
    const { code, stdout, stderr } = await runAdmin([...words, ...given], {});
    t.deepEqual([code, stdout], [2, ''], stderr);
    t.regex(stderr, /--token is not accepted.* standard input, by --token-file FILE/v);
    t.false(stderr.includes(secret));
  }

  const bare = t.throws(() => readArguments([...words, secret]), { instanceOf: UsageError });
  t.regex(bare?.message ?? '', /one word too many.*--token-file FILE/v);
  t.false(bare?.message.includes(secret));

  const bluesky = ['channel', 'add-bluesky', 'w', '--url', 'x', '--handle', 'y'];
  t.throws(() => readArguments([...bluesky, '--app-password', secret]), {
    instanceOf: UsageError,
    message: /--app-password is not accepted.*--app-password-file FILE/v,
  });
});

test('a secret is read from standard input or a file, without the line end', async (t) => {
  t.like(await withSecret(mastodon, { url: 'x' }, piped(`${secret}\r\n`)), {
    url: 'x',
    token: secret,
  });
  t.is((await withSecret(mastodon, {}, piped(`\u2060${secret}\u200E\n`)))['token'], secret);
  const file = path.join(await temporaryFolder(t), 'token');
  await writeFile(file, `${secret}\n`);
  t.is((await withSecret(mastodon, { 'token-file': file }, piped('other')))['token'], secret);
  t.deepEqual(await withSecret(commandOf('workspace list'), {}, piped(secret)), {});
});

test('a person types a secret at a prompt that does not show it', async (t) => {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => input });
  const output = new PassThrough();
  const asked = withSecret(mastodon, {}, { input, output });
  for (const key of [...secret, '\r']) {
    input.write(key);
  }

  t.is((await asked)['token'], secret);
  output.end();
  t.is(await text(output), 'token (nothing is shown): \n');
});

test('Ctrl-C and Ctrl-D at the prompt give no secret', async (t) => {
  for (const key of ['\u0003', '\u0004']) {
    const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => input });
    const asked = withSecret(mastodon, {}, { input, output: new PassThrough() });
    input.write(key);
    await t.throwsAsync(asked, { instanceOf: UsageError, message: /There is no token/v });
  }
});

test('a missing secret, a missing file and an invalid token are refused without repeating the input', async (t) => {
  const nowhere = path.join(await temporaryFolder(t), 'none');
  const refused = async (values: Record<string, string>, input: string): Promise<string> => {
    const asked = withSecret(mastodon, values, piped(input));
    return (await t.throwsAsync(asked, { instanceOf: UsageError })).message;
  };
  t.regex(await refused({}, ''), /There is no token\. .*--token-file FILE/v);
  t.regex(await refused({}, ' \n'), /There is no token/v);
  t.regex(await refused({ 'token-file': nowhere }, secret), /cannot be read \(ENOENT\)/v);
  for (const wrong of [`${secret}\n${secret}`, `${secret} x`, secret.repeat(10_000)]) {
    const message = await refused({}, wrong);
    t.regex(message, /This is not a valid token/v);
    t.false(message.includes(secret));
  }
});
