import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { commandNamed } from '../../cli/commands.ts';
import { type Command, UsageError } from '../../cli/command.ts';
import { readArguments, withSecret, type SecretSources } from '../../cli/arguments.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { runAdmin } from './admin.ts';

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
