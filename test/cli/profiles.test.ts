import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ExecutionContext } from 'ava';
import { sharedApi } from '../support/kit.ts';
import test from 'ava';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { runPunctual } from './run-punctual.ts';

const shared = sharedApi(test);

async function newHome(t: ExecutionContext) {
  const home = await temporaryFolder(t);
  const file = path.join(home, 'punctual/config.json');
  const run = (words: string, input = '', more: Readonly<Record<string, string>> = {}) =>
    runPunctual(words.split(' '), { XDG_CONFIG_HOME: home, ...more }, input);
  const workspace = async (words = '', more = {}): Promise<string> => {
    const answer = await run(`whoami --jq .workspace.name ${words}`.trim(), '', more);
    return answer.stdout.trim() || answer.stderr;
  };
  return { home, file, run, workspace };
}

test('profiles keep keys in a file for their owner only; the environment comes first, then --profile, then the current one', async (t) => {
  const { url } = shared.punctual;
  const { file, run, workspace } = await newHome(t);
  const [one, two, three] = await Promise.all(['One', 'Two', 'Three'].map(shared.newClient));
  const first = await run(`auth login --profile one --url ${url}/api/v1`, `${one!.key}\n`);
  t.is(first.code, 0, first.stderr);
  t.false(`${first.stdout}${first.stderr}`.includes(one!.key));
  const second = await run(`auth login --profile two --keep-current --url ${url}`, two!.key);
  t.is(second.code, 0, second.stderr);
  t.is((await stat(file)).mode & 0o777, 0o600);
  t.is((await stat(path.dirname(file))).mode & 0o777, 0o700);

  t.is(await workspace(), 'One');
  t.is(await workspace('--profile two'), 'Two');
  t.is(await workspace('', { PUNCTUAL_PROFILE: 'two' }), 'Two');
  const environment = { PUNCTUAL_API_KEY: three!.key, PUNCTUAL_URL: url };
  t.is(await workspace('', environment), 'Three');
  t.is(await workspace('--profile two', environment), 'Two');
  const other = { PUNCTUAL_URL: 'https://staging.example.com' };
  t.regex(await workspace('', other), /the profile .*one.* is for http.*PUNCTUAL_API_KEY/v);
  t.is(await workspace('--profile two', other), 'Two');
  t.is((await run('whoami --profile constructor')).code, 4);
  t.is((await run('auth switch two')).code, 0);
  t.is(await workspace(), 'Two');
  const shown = (await run('auth status')).stdout;
  t.regex(shown, /^In use: profile two[\s\S]+^\* two /mv);
  t.false([one, two].some((client) => shown.includes(client!.key)));

  t.is((await run('auth logout')).code, 0);
  t.is((await run('whoami')).code, 4);
  t.is((await run('auth switch two')).code, 2);
});

test('a file that others can read is refused, and a damaged one is not overwritten', async (t) => {
  const { url } = shared.punctual;
  const { file, run } = await newHome(t);
  const { key } = await shared.newClient();
  await run(`auth login --url ${url}`, key);
  await chmod(file, 0o644);
  const open = await run('whoami');
  t.is(open.code, 1);
  t.regex(open.stderr, /chmod 600/v);
  await chmod(file, 0o600);
  for (const content of ['{', 'null', '{"profiles":null}', '{"profiles":{"a":{"url":"x"}}}']) {
    await writeFile(file, content);
    for (const damaged of [await run(`auth login --url ${url}`, key), await run('auth status')]) {
      t.is(damaged.code, 1);
      t.is(damaged.stderr, `${file} is damaged. Correct it, or delete it and log in again.\n`);
    }

    t.is(await readFile(file, 'utf8'), content);
  }
});

test('a key that is refused, missing or typed as an argument is not stored', async (t) => {
  const { url } = shared.punctual;
  const { file, run } = await newHome(t);
  const { key } = await shared.newClient();
  t.is((await run(`auth login --url ${url}`, 'svc_live_wrong')).code, 4);
  t.is((await run(`auth login --url ${url}`, 'svc_live_…')).code, 4);
  t.is((await run(`auth login --url ${url}`)).code, 2);
  t.is((await run(`auth login ${key} --url ${url}`)).code, 2);
  t.is((await run('auth login --url ftp://example.com', key)).code, 2);
  await t.throwsAsync(stat(file), { code: 'ENOENT' });
});
