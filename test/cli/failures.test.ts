import { freePort } from '../../scripts/ports.ts';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { needs } from '../support/needs.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { sharedService } from './on-sandbox.ts';
import { runPunctual } from './run-punctual.ts';
import { listening } from '../support/listening.ts';

const test = needs('temporal');
const newService = sharedService(test);
const unknown = '01a1fb38-9c9e-7069-9b5d-80591be7a49f';

/** Words, exit code, and what standard error says. */
const cases: readonly (readonly [words: string, code: number, stderr: RegExp])[] = [
  ['psot list', 2, /`post`/v],
  ['post list --limt 5', 2, /--limit/v],
  ['post list --status drfat', 2, /"draft"/v],
  ['post show ../../x', 2, /"\.\.\/\.\.\/x" is not an id/v],
  ['post create --visibility private', 2, /no flag --visibility.*--help/v],
  ['listen', 2, /^--forward-to is missing/v],
  ['post create --body x --at someday', 2, /"tomorrow 9:00"/v],
  ['post create --body x --at 9:00 --timezone Mars/Base', 2, /Mars\/Base/v],
  ['post create --body x --channel bluesky', 2, /mastodon/v],
  ['post create --body x --channel Mastodon --options {"x":{}}', 2, /none of these accounts/v],
  ['post create --body x --wait', 2, /--at/v],
  ['post create --body x --thread y', 2, /instead of --body/v],
  ['post create --body x --alt y', 2, /more --alt than --media/v],
  ['post create --body x --media nofile.png', 2, /no file nofile\.png here/v],
  [`post create --body x --media ${unknown}`, 1, new RegExp(unknown, 'v')],
  ['post create --body x --options {"bluesky":{}}', 2, /mastodon/v],
  ['post create --body x --options {', 2, /--options is not valid JSON/v],
  [`post settle ${unknown} --channel mastodon`, 2, /--not-published/v],
  [`post settle ${unknown} --channel x --published URL`, 2, /no flag --published\. --help/v],
  [`post edit ${unknown}`, 2, /nothing to change/v],
  [`post delete ${unknown}`, 2, /--yes/v],
  [`post show ${unknown}`, 1, /not_found, request \S+\)/v],
  ['post create --body x --idempotency-key ключ', 2, /visible ASCII/v],
  ['post create --channel mastodon', 1, /body/v],
  [`post create --body x --tag ${'y'.repeat(51)}`, 1, /^[^\n]*most 50 characters[^\n]*\n$/v],
  ['api GET posts', 2, /punctual api GET/v],
  ['post create --body x --jq .post.[', 2, /--jq: .*compile error/v],
  ['channel list --profile nobody', 4, /no profile "nobody"/v],
  ['admin workspace lst', 2, /`list`/v],
];

test('mistakes end with their exit code, and a sentence that helps on standard error alone', async (t) => {
  const { answerOf, run, settings } = await newService(t);
  for (const [words, code, message] of cases) {
    const { stdout, stderr, ...ended } = await run(words.split(' '));
    t.is(ended.code, code, `${words}: ${stderr}`);
    t.regex(stderr, message, words);
    t.is(code === 0 || stdout === '', true, words);
    t.notRegex(stderr, /\n {4}at /v, words);
    t.false(stderr.includes('\u{1b}'), words);
  }

  t.deepEqual((await answerOf('GET /posts 200', ['post', 'list'])).posts, []);
  const create = [
    'post',
    'create',
    '--body',
    'x',
    '--channel',
    'mastodon',
    '--at',
    'tomorrow 9:00',
  ];
  for (const TZ of ['CET-1CEST', '<+03>-3']) {
    const { code, stderr } = await runPunctual(create, { ...settings, TZ });
    t.is(code, 2);
    t.is(stderr, `TZ=${TZ} is not the name of a time zone; give --timezone.\n`);
  }

  const abroad = await runPunctual([...create, '--json'], { ...settings, TZ: 'Asia/Tokyo' });
  t.is(JSON.parse(abroad.stdout).post.timezone, 'Asia/Tokyo');
});

test('a text of the service cannot steer the terminal, and JSON keeps it by escapes', async (t) => {
  const hostile = '\u{9b}31m\u{1b}]0;x\u{7}\u{202e}';
  const delivery = { status: 'failed', response_status: null, error: hostile };
  const answer = { id: hostile, live: [], delivery };
  const server = createServer((_, response) => {
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(answer));
  });
  const port = await listening(t, server);
  const settings = { PUNCTUAL_API_KEY: 'k', PUNCTUAL_URL: `http://127.0.0.1:${port}` };
  const calls = [`post delete ${unknown} --yes`, `webhook test ${unknown}`, 'api GET /me'];
  for (const words of calls) {
    const { stdout } = await runPunctual(words.split(' '), settings);
    t.regex(stdout, /31m/v, words);
    t.notRegex(stdout, /[[\p{Cc}\p{Bidi_Control}]--\n]/v, words);
  }

  t.deepEqual(JSON.parse((await runPunctual(['api', 'GET', '/me'], settings)).stdout), answer);
});

test('an input that is not UTF-8 is refused, and a byte order mark is no part of a text', async (t) => {
  const { answerOf, run } = await newService(t);
  const create = ['post', 'create', '--body', '-'];
  const file = path.join(await temporaryFolder(t), 'body.json');
  await writeFile(file, Buffer.from('{"body":"\u{ff}"}', 'latin1'));
  const refused = [
    [await run(create, Buffer.from('A\u{ff}B', 'latin1')), 'Standard input'],
    [await run(create, Buffer.from('A\u{c3}', 'latin1')), 'Standard input'],
    [await run(['api', 'POST', '/posts', '--input', file]), `"${file}"`],
  ] as const;
  for (const [{ code, stderr }, name] of refused) {
    t.is(code, 2);
    t.is(stderr, `${name} is not text in UTF-8.\n`);
  }

  const { post } = await answerOf('POST /posts 201', create, '\u{feff}Ä');
  t.is(post.body, 'Ä');
});

test('without a key, with a wrong one, or one without the right, the exit code is 4', async (t) => {
  const { run, settings, answerOf } = await newService(t);
  const none = await runPunctual(['whoami', '--json']);
  t.is(none.code, 4);
  t.like(JSON.parse(none.stderr), { code: 'no_key' });
  const wrong = { ...settings, PUNCTUAL_API_KEY: 'svc_live_wrong' };
  const refused = await runPunctual(['whoami', '--json'], wrong);
  t.is(refused.code, 4);
  const named = await runPunctual(['whoami'], wrong);
  t.true(named.stderr.includes(settings.PUNCTUAL_URL), named.stderr);
  t.like(JSON.parse(refused.stderr), { code: 'unauthorized' });
  const ofAnExample = { ...settings, PUNCTUAL_API_KEY: 'svc_live_…' };
  const unsendable = await runPunctual(['whoami'], ofAnExample);
  t.is(unsendable.code, 4);
  t.regex(unsendable.stderr, /^The API key has .+ Copy the whole key\.\n$/v);

  const words = ['key', 'create', '--name', 'N', '--scope', 'media'];
  const { key } = (await answerOf('POST /keys 201', words)).key;
  const limited = { ...settings, PUNCTUAL_API_KEY: key };
  t.is((await runPunctual(['post', 'list'], limited)).code, 4);
  t.is((await run(['post', 'list', '--json'])).code, 0);
});

test('a service that is away is named, and a call that may have happened is not hidden', async (t) => {
  const away = { PUNCTUAL_API_KEY: 'k', PUNCTUAL_URL: `http://127.0.0.1:${await freePort()}` };
  const { code, stderr } = await runPunctual(['post', 'cancel', unknown], away);
  t.is(code, 1);
  t.regex(stderr, /^POST .*ECONNREFUSED.*look before you repeat it/v);
  const json = await runPunctual(['post', 'cancel', unknown, '--json'], away);
  t.like(JSON.parse(json.stderr), { code: 'no_answer', error: stderr.trimEnd() });
});

test('each command of the pages has the flags that they show', async (t) => {
  const root = path.join(import.meta.dirname, '../..');
  const pages = ['README.md', 'docs/guides/cli.md', 'cli/README.md'];
  const text = pages.map((page) => readFileSync(path.join(root, page), 'utf8')).join('\n');
  const call = /(?:^|`)(?:npm run -s punctual --|punctual) (?<call>[a-z][^`\n<#]+)/gmv;
  const calls = [...text.matchAll(call)].map(({ groups }) => groups?.['call']?.trim() ?? '');
  t.true(calls.length > 10);
  for (const shown of new Set(calls)) {
    const given = [...shown.matchAll(/"(?<quoted>[^"]*)"|\S+/gv)].map(
      ([word, quoted]) => quoted ?? word,
    );
    if (!['auth', 'completion', 'admin'].includes(given[0] ?? '')) {
      // It gets as far as the key, which is missing.
      const { code, stderr } = await runPunctual(given);
      t.is(code, 4, `${shown}: ${stderr}`);
    }
  }
});
