import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { emptyDatabase } from '../support/database.ts';
import { clientFor } from '../support/client.ts';
import { startApi } from '../support/punctual.ts';
import { runAdmin } from './run-admin.ts';

const settingsFor = (databaseUrl: string): Record<string, string> => ({
  DATABASE_URL: databaseUrl,
  SECRET_KEY: randomBytes(32).toString('hex'),
});

test('on an empty database a workspace is made with a key, and listed', async (t) => {
  const settings = settingsFor(await emptyDatabase(t));
  t.regex((await runAdmin(['workspace', 'list'], settings)).stdout, /no workspace yet/v);

  const made = await runAdmin(['workspace', 'create', 'Acme & Söhne'], settings);
  t.is(made.code, 0, made.stderr);
  t.is(made.stderr, '');
  t.regex(made.stdout, /^Workspace [0-9a-f\-]{36} \(Acme & Söhne\)\n.*svc_live_\w{32}\n$/v);

  const listed = await runAdmin(['workspace', 'list', '--json'], settings);
  t.is(listed.code, 0);
  const [id] = /[0-9a-f\-]{36}/v.exec(made.stdout) ?? [];
  t.deepEqual(JSON.parse(listed.stdout), {
    workspaces: [{ id, name: 'Acme & Söhne', plan: 'standard', channels: 0 }],
  });
  t.regex(
    (await runAdmin(['workspace', 'list'], settings)).stdout,
    /0 channels {2}plan standard {2}Acme/v,
  );
});

test('a program gets JSON, and the keys it is given open the API', async (t) => {
  const { url, databaseUrl } = await startApi(t);
  const settings = settingsFor(databaseUrl);
  const made = await runAdmin(['--json', 'workspace', 'create', 'Acme'], settings);
  const { workspace_id: id, name, api_key: first } = JSON.parse(made.stdout);
  t.is(name, 'Acme');
  const another = await runAdmin(['key', 'create', id, '--json'], settings);
  const { api_key: second, ...rest } = JSON.parse(another.stdout);
  t.deepEqual(rest, { workspace_id: id });
  t.not(second, first);
  for (const key of [first, second]) {
    const { body } = await clientFor(url, id, key).get('/me');
    t.deepEqual(body, { workspace: { id, name: 'Acme' }, channels: 0 });
  }
});

test('what is not there or blank is refused in a sentence, and nothing is made', async (t) => {
  const settings = settingsFor(await emptyDatabase(t));
  const unknown = crypto.randomUUID();
  const refused: [string[], RegExp][] = [
    [['workspace', 'create', ' '], /name that is not blank/v],
    [['key', 'create', 'nope'], /no workspace "nope"/v],
    [['key', 'create', unknown], /no workspace/v],
    [['channel', 'add-mastodon', unknown, '--url', 'x', '--token', 'y'], /no workspace/v],
  ];
  for (const [args, reason] of refused) {
    const { code, stdout, stderr } = await runAdmin(args, settings);
    t.is(code, 1, args.join(' '));
    t.is(stdout, '');
    t.regex(stderr, reason);
    t.notRegex(stderr, /\n\s+at /v);
  }

  const json = await runAdmin(['key', 'create', unknown, '--json'], settings);
  t.is(json.code, 1);
  t.like(JSON.parse(json.stdout), { code: 'not_found' });
  t.regex((await runAdmin(['workspace', 'list'], settings)).stdout, /no workspace yet/v);
});

test('a database that is away is said in one line, without its password', async (t: ExecutionContext) => {
  const settings = settingsFor('postgresql://postgres:hunter2@127.0.0.1:1/punctual');
  const { code, stderr } = await runAdmin(['workspace', 'list'], settings);
  t.is(code, 1);
  t.regex(stderr, /^The database cannot be reached.*127\.0\.0\.1:1.*\n$/v);
  t.false(stderr.includes('hunter2'));

  const json = await runAdmin(['workspace', 'list', '--json'], settings);
  t.is(json.code, 1);
  t.is(JSON.parse(json.stdout).code, 'unavailable');
});
