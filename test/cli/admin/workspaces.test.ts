import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { CommandDeps } from '../../../cli/admin/command.ts';
import { createWorkspace } from '../../../cli/admin/workspaces.ts';
import { createSealer } from '../../../runtime/secrets.ts';
import { mastodonAccount, networkPorts } from '../../support/accounts.ts';
import { clientFor } from '../../support/client.ts';
import { emptyDatabase } from '../../support/database.ts';
import { ownPool, sharedApi } from '../../support/kit.ts';
import { needs } from '../../support/needs.ts';
import { startApi } from '../../support/punctual.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { adminOf, areRefused, callAdmin, runAdmin } from './admin.ts';

const api = sharedApi(test, { allowPorts: networkPorts() });
const call = (...words: readonly string[]) => adminOf(api.punctual).call(...words);

test('on an empty database a workspace is created with a key, and listed', async (t) => {
  const url = await emptyDatabase(t);
  const settings = { DATABASE_URL: url, SECRET_KEY: randomBytes(32).toString('hex') };
  const early = await runAdmin(['workspace', 'list'], settings);
  t.is(early.code, 1);
  t.regex(early.stderr, /^The database lacks migrations .* Run "npm run admin -- migrate"\.\n$/v);
  t.regex((await runAdmin(['migrate'], settings)).stdout, /^\d+ migrations were applied\.\n$/v);
  t.is((await runAdmin(['migrate'], settings)).stdout, 'The schema is up to date.\n');
  t.regex((await runAdmin(['workspace', 'list'], settings)).stdout, /^None\.$/mv);

  const made = await runAdmin(['workspace', 'create', 'Acme & Söhne'], settings);
  t.is(made.code, 0, made.stderr);
  t.is(made.stderr, '');
  t.regex(made.stdout, /^Workspace [0-9a-f\-]{36} \(Acme & Söhne\)\n.*svc_live_\w{32}\n$/v);

  const deps = { em: ownPool(t, url).em.fork() } as CommandDeps; // The only one that is used.
  const { text, data } = await callAdmin(deps, 'workspace', 'list');
  const [id] = /[0-9a-f\-]{36}/v.exec(made.stdout) ?? [];
  const known = { id, name: 'Acme & Söhne', plan: 'standard', channels: 0, deleted_at: null };
  t.like(data.workspaces, [known]);
  t.regex(text, /0 {9}standard {2}Acme & Söhne {2}\d{4}-\d\d-\d\d \d\d:\d\d$/mv);
});

test('a program gets JSON, and its keys work for the API', async (t) => {
  const made = await adminOf(api.punctual).run('workspace', 'create', '\tAcme\r\n', '--json');
  const { workspace_id: id, name, api_key: first } = JSON.parse(made.stdout);
  t.is(name, 'Acme');
  const { api_key: second, workspace_id: of } = (await call('key', 'create', id)).data;
  t.is(of, id);
  t.not(second, first);
  for (const key of [first, second]) {
    const { body } = await clientFor(api.punctual.url, id, key).get('/me');
    t.like(body, { workspace: { id, name: 'Acme' }, channels: 0 });
  }
});

// Its own database, because the list of workspaces must be empty.
test('missing and blank values are refused with a reason, and nothing is created', async (t) => {
  const admin = adminOf(await startApi(t));
  const unknown = crypto.randomUUID();
  const file = await secretFile(t, 'y');
  const toNobody = ['channel', 'add-mastodon', unknown, '--url'];
  const withToken = ['--token-file', file];
  await areRefused(t, admin, [
    [['workspace', 'create', ' '], 'AppError', /must not be blank/v],
    [['workspace', 'create', 'Acme\u001b[2J'], 'AppError', /no control characters/v],
    [['workspace', 'create', 'x'.repeat(201)], 'AppError', /at most 200 characters/v],
    [['key', 'create', 'nope'], 'AppError', /no workspace "nope"/v],
    [[...toNobody, 'https://a.example', ...withToken], 'AppError', /no workspace/v],
    [[...toNobody, 'foo', ...withToken], 'UsageError', /must be the server's address.*"foo"/v],
  ]);
  const { code, stdout, stderr } = await admin.run('key', 'create', unknown);
  t.deepEqual([code, stdout], [1, '']);
  t.regex(stderr, /no workspace/v);
  t.notRegex(stderr, /\n\s+at /v);

  await t.throwsAsync(admin.call('key', 'create', unknown), { code: 'not_found' });
  t.deepEqual((await admin.call('workspace', 'list')).data.workspaces, []);
});

test('without its plan a workspace gets 402 at once, and with a new one it works again', async (t) => {
  const [client, other] = [await api.newClient(), await api.newClient()];
  const id = client.workspaceId;
  t.is((await client.post('/posts', { body: 'x' })).status, 201);

  const ended = await call('workspace', 'plan', id, 'none');
  t.is(ended.text, `Workspace ${id} has no plan`);
  const refused = await client.post('/posts', { body: 'x' });
  t.is(refused.status, 402);
  t.is(refused.body.code, 'plan_required');
  t.is((await client.get('/me')).status, 200);
  t.is((await other.post('/posts', { body: 'x' })).status, 201);
  const listed = await call('workspace', 'list');
  t.regex(listed.text, new RegExp(`^${id} {2}0 {11,}Test`, 'mv'));

  const begun = await call('workspace', 'plan', id, 'gold');
  t.deepEqual(begun.data, { workspace_id: id, plan: 'gold' });
  t.is((await client.post('/posts', { body: 'x' })).status, 201);
  const { workspaces } = (await call('workspace', 'list')).data;
  // Newest first, ignoring the workspaces of other tests.
  const mine = new Set([id, other.workspaceId]);
  t.deepEqual(
    workspaces
      .filter((one: { id: string }) => mine.has(one.id))
      .map((one: { plan: string }) => one.plan),
    ['standard', 'gold'],
  );
});

type Row = {
  readonly id: string;
  readonly handle: string;
  readonly platform: string;
  readonly remote_id: string;
  readonly base_url: string;
  readonly state: string;
  readonly sealed_credentials: string;
  readonly sealed_session: string | null;
  readonly settings: unknown;
};

async function secretFile(t: ExecutionContext, secret: string): Promise<string> {
  const file = path.join(await temporaryFolder(t), 'secret');
  await writeFile(file, `${secret}\n`, { mode: 0o600 });
  return file;
}

/** A workspace without channels, and a function that adds one. */
async function workspace(t: ExecutionContext) {
  const { orm, secretKey } = api.punctual;
  const workspaceId = await createWorkspace(orm.em.fork(), 'Test');
  const wordsFor = (options: Record<string, string>): string[] => {
    const words = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
    return ['channel', 'add-mastodon', workspaceId, ...words];
  };
  const add = async ({ secret = '', ...options }: Record<string, string>) =>
    call(...wordsFor({ ...options, 'token-file': await secretFile(t, secret) }));
  const rows = (): Promise<Row[]> =>
    orm.em
      .fork()
      .execute<Row[]>('select * from channels where workspace_id = ? order by created_at', [
        workspaceId,
      ]);
  return { wordsFor, add, rows, workspaceId, sealer: createSealer(secretKey) };
}

function onlyRow(t: ExecutionContext, rows: Row[]): Row {
  t.is(rows.length, 1);
  const [row] = rows;
  if (!row) {
    throw new Error('No channel was stored.');
  }

  return row;
}

needs('gotosocial')(
  'a Mastodon account is connected with its token, which the database does not reveal',
  async (t) => {
    const account = await mastodonAccount();
    const { wordsFor, rows, sealer } = await workspace(t);
    const options = { url: `${account.baseUrl}/` };
    const { databaseUrl, secretKey } = api.punctual;

    // As a process, which reads its egress settings.
    const { code, stdout, stderr } = await runAdmin(
      [...wordsFor(options), '--json'],
      {
        DATABASE_URL: databaseUrl,
        SECRET_KEY: secretKey,
        PUNCTUAL_EGRESS_ALLOW_NETWORKS: `127.0.0.1/32:${new URL(account.baseUrl).port}`,
      },
      `${account.accessToken}\n`,
    );

    t.is(code, 0, stdout + stderr);
    const { channel } = JSON.parse(stdout);
    const row = onlyRow(t, await rows());
    t.deepEqual(channel, { id: row.id, platform: 'mastodon', handle: row.handle });
    t.regex(row.handle, new RegExp(`^@${account.username}@127\\.0\\.0\\.1`, 'v'));
    t.like(row, { base_url: account.baseUrl, state: 'connected', sealed_session: null });
    t.like(row.settings, { maxCharacters: 5000 });
    t.false(JSON.stringify(row).includes(account.accessToken));
    const opened = sealer.open(row.sealed_credentials, `channel/${row.id}/credentials`);
    t.deepEqual(JSON.parse(opened), { accessToken: account.accessToken });
  },
);

needs('gotosocial')('a refused token connects no account', async (t) => {
  const account = await mastodonAccount();
  const { add, rows } = await workspace(t);
  await account.revoke();
  for (const token of ['wrong', account.accessToken]) {
    const connecting = add({ url: account.baseUrl, secret: token });
    const error = await t.throwsAsync(connecting, { code: 'access_lost' });
    t.false(error.message.includes(account.accessToken));
  }

  const nobody = add({ url: 'http://127.0.0.1:1', secret: 'x' });
  await t.throwsAsync(nobody, { code: 'network_unavailable' });
  t.deepEqual(await rows(), []);
});
