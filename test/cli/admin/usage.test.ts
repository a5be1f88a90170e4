import test from 'ava';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { UsageError } from '../../../cli/failures.ts';
import { readSecret, type SecretSources } from '../../../cli/input.ts';
import { emptyDatabase } from '../../support/database.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { parseAdmin, runAdmin } from './admin.ts';

const none = {};

test('the commands and their options are shown without any settings', async (t) => {
  const pages: [string[], RegExp][] = [
    [[], /^ +workspace +Workspaces and their plans$/mv],
    [['help'], /^ +post +Posts of all workspaces$/mv],
    [['workspace', '--help'], /^ +create +Creates a workspace with a first API key/mv],
    [['help', 'quota', 'set'], /npm run admin -- quota set <WORKSPACE_ID> <QUOTA> <LIMIT>$/mv],
    [
      ['quota', 'set', 'W', 'scheduled', '-1', '--help'],
      /^ +WORKSPACE_ID +As "workspace list" shows it$/mv,
    ],
    [['channel'], /^ +add-bluesky +Connects a Bluesky account/mv],
    [['channel', 'add-bluesky', '--help'], /--app-password-file/v],
  ];
  for (const [words, shown] of pages) {
    const { code, stdout, stderr } = await runAdmin(words, none);
    t.deepEqual([code, stderr], [0, ''], words.join(' '));
    t.regex(stdout, shown, words.join(' '));
  }
});

test('a command line that does not fit exits with 2', async (t) => {
  const { code, stdout, stderr } = await runAdmin(['workspace', 'lst'], none);
  t.deepEqual([code, stdout], [2, '']);
  t.regex(stderr, /`lst`, did you mean `list`\?/v);
  const wrong: [string, RegExp][] = [
    ['nope', /`nope`/v],
    ['workspace create', /NAME is missing/v],
    ['channel add-mastodon w', /--url is missing/v],
    ['workspace create a --plan gold', /--plan/v],
    ['post list --failed --limt 3', /--limt\. Did you mean --limit\?/v],
    ['channel add-mastodon w --url https://a.example --token-file', /--token-file/v],
    [
      'channel add-mastodon w --url --token-file t',
      /--url is missing, or its value: --token-file follows/v,
    ],
  ];
  for (const [line, message] of wrong) {
    await t.throwsAsync(parseAdmin(line.split(' ')), { instanceOf: UsageError, message }, line);
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
  t.regex(stderr, /^The database cannot be used.*127\.0\.0\.1:1.*\n$/v);
  t.false(stderr.includes('hunter2'));

  const json = await runAdmin(['workspace', 'list', '--json'], settings);
  t.is(json.code, 1);
  t.is(json.stdout, '');
  t.is(JSON.parse(json.stderr).code, 'unavailable');
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

const secret = 'T0ken-of-mine';
const words = ['channel', 'add-mastodon', 'w', '--url', 'https://a.example'];

/** The input that a program pipes in. */
const piped = (input: string): SecretSources => ({
  input: new PassThrough().end(input),
  output: new PassThrough(),
});

/** The token that a command gets. */
const secretFrom = (sources: SecretSources, file?: string): Promise<string> =>
  readSecret('token', file, 'Give it by --token-file FILE.', sources);

test('a secret in the arguments is refused with advice, and not repeated', async (t) => {
  for (const given of [['--token', secret], [`--token=${secret}`]]) {
    const { code, stdout, stderr } = await runAdmin([...words, ...given], {});
    t.deepEqual([code, stdout], [2, ''], stderr);
    t.regex(stderr, /--token: it is refused.* standard input, by --token-file FILE/v);
    t.false(stderr.includes(secret));
  }

  const others = [
    [...words, secret],
    ['channel', 'add-bluesky', 'w', '--url', 'x', '--handle', 'y', '--app-password', secret],
  ];
  for (const typed of others) {
    const { message } = await t.throwsAsync(parseAdmin(typed), { instanceOf: UsageError });
    t.regex(
      message,
      /one argument too many|--app-password: it is refused.*--app-password-file FILE/v,
    );
    t.false(message.includes(secret));
  }
});

test('a secret is read from standard input or a file, without the line end', async (t) => {
  t.is(await secretFrom(piped(`${secret}\r\n`)), secret);
  t.is(await secretFrom(piped(`\u2060${secret}\u200E\n`)), secret);
  const file = path.join(await temporaryFolder(t), 'token');
  await writeFile(file, `${secret}\n`);
  t.is(await secretFrom(piped('other'), file), secret);
});

test('a person types a secret at a prompt that does not show it', async (t) => {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => input });
  const output = new PassThrough();
  const asked = secretFrom({ input, output });
  for (const key of [...secret, '\r']) {
    input.write(key);
  }

  t.is(await asked, secret);
  output.end();
  t.is(await text(output), 'token (nothing is shown): \n');
});

test('a missing secret, a missing file and an invalid token are refused without repeating the input', async (t) => {
  const refused = async (input: string, file?: string): Promise<string> => {
    const asked = secretFrom(piped(input), file);
    return (await t.throwsAsync(asked, { instanceOf: UsageError })).message;
  };
  t.regex(await refused(''), /There is no token\. .*--token-file FILE/v);
  t.regex(await refused(' \n'), /There is no token/v);
  const nowhere = path.join(await temporaryFolder(t), 'none');
  t.regex(await refused(secret, nowhere), /cannot be read \(ENOENT\)/v);
  for (const wrong of [`${secret}\n${secret}`, `${secret} x`, secret.repeat(10_000)]) {
    const message = await refused(wrong);
    t.regex(message, /This is not a valid token/v);
    t.false(message.includes(secret));
  }
});
