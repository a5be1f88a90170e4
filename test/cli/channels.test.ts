import { randomBytes } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { createWorkspace } from '../../cli/create-workspace.ts';
import type { Orm } from '../../db/orm.ts';
import { createSealer } from '../../runtime/sealer.ts';
import { blueskyAccount, mastodonAccount } from '../support/accounts.ts';
import { freshDatabase } from '../support/database.ts';
import { needs } from '../support/needs.ts';
import { runAdmin, type AdminRun } from './run-admin.ts';

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

async function world(t: ExecutionContext, serverUrl: string) {
  const { url, orm } = await freshDatabase(t);
  const workspaceId = await createWorkspace(orm.em.fork(), 'Test');
  const secretKey = randomBytes(32).toString('hex');
  const settings = {
    DATABASE_URL: url,
    SECRET_KEY: secretKey,
    PUNCTUAL_EGRESS_ALLOW: `127.0.0.1/32:${new URL(serverUrl).port}`,
  };
  const add = (kind: string, options: Record<string, string>): Promise<AdminRun> => {
    const words = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
    return runAdmin(['channel', kind, workspaceId, ...words, '--json'], settings);
  };
  return { orm, add, sealer: createSealer(secretKey) };
}

const rowsOf = (orm: Orm): Promise<Row[]> =>
  orm.em.fork().execute<Row[]>('select * from channels order by created_at');

function onlyRow(t: ExecutionContext, rows: Row[]): Row {
  t.is(rows.length, 1);
  const [row] = rows;
  if (!row) {
    throw new Error('There is no channel.');
  }

  return row;
}

needs('gotosocial')(
  'a Mastodon account is connected by its token, which nothing in the database shows',
  async (t) => {
    const account = await mastodonAccount();
    const { orm, add, sealer } = await world(t, account.baseUrl);
    const options = { url: `${account.baseUrl}/`, token: account.accessToken };

    const { code, stdout, stderr } = await add('add-mastodon', options);

    t.is(code, 0, stdout + stderr);
    const { channel } = JSON.parse(stdout);
    const row = onlyRow(t, await rowsOf(orm));
    t.deepEqual(channel, { id: row.id, platform: 'mastodon', handle: row.handle });
    t.regex(row.handle, new RegExp(`^@${account.username}@127\\.0\\.0\\.1`, 'v'));
    t.like(row, { base_url: account.baseUrl, state: 'connected', sealed_session: null });
    t.like(row.settings, { maxCharacters: 5000 });
    t.false(JSON.stringify(row).includes(account.accessToken));
    const opened = sealer.open(row.sealed_credentials, `channel/${row.id}/credentials`);
    t.deepEqual(JSON.parse(opened), { accessToken: account.accessToken });
  },
);

needs('gotosocial')(
  'the same Mastodon account connected again keeps its channel and is whole again',
  async (t) => {
    const account = await mastodonAccount();
    const { orm, add } = await world(t, account.baseUrl);
    const options = { url: account.baseUrl, token: account.accessToken };
    await add('add-mastodon', options);
    const before = onlyRow(t, await rowsOf(orm));
    const em = orm.em.fork();
    await em.execute(`update channels set state = 'needs_reconnect', error = 'Revoked.'`);

    const { stdout } = await add('add-mastodon', options);

    t.is(JSON.parse(stdout).channel.id, before.id);
    const after = onlyRow(t, await rowsOf(orm));
    t.like(after, { id: before.id, state: 'connected', error: null });
    t.not(after.sealed_credentials, before.sealed_credentials);
  },
);

needs('gotosocial')('a token that the server refuses connects nothing', async (t) => {
  const account = await mastodonAccount();
  const { orm, add } = await world(t, account.baseUrl);
  await account.revoke();
  for (const token of ['wrong', account.accessToken]) {
    const { code, stdout } = await add('add-mastodon', { url: account.baseUrl, token });
    t.is(code, 1);
    t.is(JSON.parse(stdout).code, 'access_lost', stdout);
    t.false(stdout.includes(account.accessToken));
  }

  const nobody = await add('add-mastodon', { url: 'http://127.0.0.1:1', token: 'x' });
  t.is(nobody.code, 1);
  t.is(JSON.parse(nobody.stdout).code, 'network_unavailable', nobody.stdout);
  t.deepEqual(await rowsOf(orm), []);
});

needs('pds')(
  'a Bluesky account is connected by its handle and app password, which nothing in the database shows',
  async (t) => {
    const account = await blueskyAccount();
    const { orm, add, sealer } = await world(t, account.baseUrl);
    const login = { url: account.baseUrl, handle: `@${account.handle}` };
    const options = { ...login, 'app-password': account.appPassword };

    const { code, stdout, stderr } = await add('add-bluesky', options);

    t.is(code, 0, stdout + stderr);
    const row = onlyRow(t, await rowsOf(orm));
    t.like(row, { platform: 'bluesky', handle: account.handle, remote_id: account.did });
    t.deepEqual(JSON.parse(stdout).channel, {
      id: row.id,
      platform: 'bluesky',
      handle: account.handle,
    });
    t.false(JSON.stringify(row).includes(account.appPassword));
    const opened = sealer.open(row.sealed_credentials, `channel/${row.id}/credentials`);
    t.like(JSON.parse(opened), { appPassword: account.appPassword });
    const session = sealer.open(row.sealed_session ?? '', `channel/${row.id}/session`);
    t.false(JSON.stringify(row).includes(JSON.parse(session).accessJwt));

    const again = await add('add-bluesky', { ...options, handle: account.did });
    t.is(JSON.parse(again.stdout).channel.id, row.id);
    t.is((await rowsOf(orm)).length, 1);
  },
);

needs('pds')('an app password that the PDS refuses connects nothing', async (t) => {
  const account = await blueskyAccount();
  const { orm, add } = await world(t, account.baseUrl);
  const { code, stdout } = await add('add-bluesky', {
    url: account.baseUrl,
    handle: account.handle,
    'app-password': 'aaaa-bbbb-cccc-dddd',
  });
  t.is(code, 1);
  t.is(JSON.parse(stdout).code, 'access_lost', stdout);
  t.deepEqual(await rowsOf(orm), []);
});
