import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { createServer } from 'node:tls';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { runCommand } from '../../scripts/run-command.ts';
import { emptyDatabase, freshDatabase } from '../support/database.ts';
import { env } from '../support/env.ts';
import { ownPool } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { freshNamespace } from '../support/temporal.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { createOrm } from '../../db/orm.ts';
import { listening } from '../support/listening.ts';

const test = needs('postgres', 'temporal', 'openssl');
const both = ['api/main.ts', 'worker/main.ts'];
/** Both share the code, and each process takes seconds, so most cases start one. */
const [api, worker] = [['api/main.ts'], ['worker/main.ts']];
const root = fileURLToPath(new URL('../..', import.meta.url));

type Settings = Readonly<Record<string, string>>;

const start = (t: ExecutionContext, main: string, settings: Settings) => {
  const child = spawn(process.execPath, [main], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      SECRET_KEY: 'ab'.repeat(32),
      PORT: '0',
      // The default port may be taken, and a worker logs that with a stack.
      PUNCTUAL_WORKER_HEALTH_PORT: '0',
      LOG_LEVEL: 'info',
      HOME: root,
      ...settings,
    },
  });
  t.teardown(() => void child.kill('SIGKILL'));
  return child;
};

/** @returns the last log message of a process that exits with 1. */
async function lastWords(t: ExecutionContext, main: string, settings: Settings): Promise<string> {
  const child = start(t, main, settings);
  const [log] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  t.is(child.exitCode, 1, log);
  const lines = log.trim().split('\n');
  const { level, msg, ...rest } = JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown>;
  t.is(level, 60);
  t.false('error' in rest);
  t.notRegex(log, /tonic|\bstack\b/v);
  return String(msg);
}

async function changed(t: ExecutionContext, change: (url: URL) => void): Promise<string> {
  const url = new URL(await emptyDatabase(t));
  change(url);
  return url.href;
}

/** A database in which the role may connect but not create tables. */
async function poorRole(t: ExecutionContext): Promise<string> {
  const orm = createOrm(env('PUNCTUAL_TEST_DATABASE_URL'), { poolSize: 1 });
  const role = `poor_${crypto.randomUUID().slice(0, 8)}`;
  await orm.em.execute(`create role ${role} login password 'poor'`);
  t.teardown(async () => {
    await orm.em.execute(`drop role ${role}`);
  });
  return changed(t, (url) => Object.assign(url, { username: role, password: 'poor' }));
}

const databases: readonly (readonly [
  string,
  readonly string[],
  (t: ExecutionContext) => Promise<string>,
  RegExp,
])[] = [
  [
    'the password is wrong',
    both,
    (t) => changed(t, (url) => Object.assign(url, { password: 'wrong' })),
    /^DATABASE_URL is refused: password authentication failed for user/v,
  ],
  [
    'the database does not exist',
    api,
    (t) => changed(t, (url) => Object.assign(url, { pathname: '/mistyped' })),
    /^DATABASE_URL is refused: database "mistyped" does not exist\.$/v,
  ],
  [
    'the role may not make tables',
    worker,
    poorRole,
    /^The role of DATABASE_URL has too few rights: permission denied for schema public\. Grant the rights of .+running\.md, or make it/v,
  ],
];

for (const [what, mains, make, words] of databases) {
  test(`a start exits with a clear message when ${what}`, async (t) => {
    const settings = { DATABASE_URL: await make(t), ...(await freshNamespace()) };
    for (const main of mains) {
      t.regex(await lastWords(t, main, settings), words);
    }
  });
}

test('with PUNCTUAL_MIGRATE=off a role with rights on rows suffices, and an older schema ends the process with the next step', async (t) => {
  const { url } = await freshDatabase(t);
  const orm = ownPool(t, url);
  const role = `rows_${crypto.randomUUID().slice(0, 8)}`;
  await orm.em.execute(`create role ${role} login password 'rows'`);
  await orm.em.execute(
    `grant select, insert, update, delete on all tables in schema public to ${role}`,
  );
  await orm.em.execute(`grant usage on all sequences in schema public to ${role}`);
  t.teardown(async () => {
    await orm.em.execute(`drop owned by ${role}`);
    await orm.em.execute(`drop role ${role}`);
  });
  const rows = Object.assign(new URL(url), { username: role, password: 'rows' }).href;
  const temporal = await freshNamespace();
  const off = { PUNCTUAL_MIGRATE: 'off', ...temporal };
  for (const main of both) {
    const child = start(t, main, { DATABASE_URL: rows, ...off });
    let log = '';
    for await (const chunk of child.stdout) {
      log += String(chunk);
      if (/"msg":"(?:the database is ready|polling)"/v.test(log)) {
        break;
      }
    }

    t.regex(log, /"msg":"(?:the database is ready|polling)"/v);
    const older = start(t, main, { DATABASE_URL: await emptyDatabase(t), ...off });
    const [words] = await Promise.all([text(older.stdout), once(older, 'exit')]);
    t.is(older.exitCode, 1);
    t.regex(words, /lacks migrations of this version.*npm run admin -- migrate/v);
  }
});

/** A TLS server with a self-signed certificate. */
async function tlsServer(t: ExecutionContext): Promise<string> {
  const folder = await temporaryFolder(t);
  const [key, cert] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
  const subject = ['-days', '2', '-subj', '/CN=localhost', '-keyout', key, '-out', cert];
  const made = await runCommand('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject]); // prettier-ignore
  t.true(made.ok, made.stderr);
  const server = createServer({ key: await readFile(key), cert: await readFile(cert) }, (socket) =>
    socket.on('error', () => undefined),
  );
  const port = await listening(t, server);
  return `127.0.0.1:${port}`;
}

const temporals: readonly (readonly [
  string,
  readonly string[],
  (t: ExecutionContext) => Promise<Settings>,
  RegExp,
])[] = [
  [
    'the namespace does not exist',
    both,
    async () => ({ TEMPORAL_NAMESPACE: 'mistyped' }),
    /^Temporal has no namespace "mistyped"\. Correct TEMPORAL_NAMESPACE, or create/v,
  ],
  [
    'Temporal does not speak TLS',
    worker,
    async () => ({ TEMPORAL_TLS: 'true' }),
    /^Temporal at .* \(TEMPORAL_ADDRESS\) does not speak TLS\. Set TEMPORAL_TLS=false/v,
  ],
  [
    'Temporal speaks TLS only',
    api,
    async (t) => ({ TEMPORAL_ADDRESS: await tlsServer(t) }),
    /^Temporal at .* \(TEMPORAL_ADDRESS\) speaks TLS only\. Set TEMPORAL_TLS=true\.$/v,
  ],
  [
    'the certificate of Temporal is not trusted',
    worker,
    async (t) => ({ TEMPORAL_ADDRESS: await tlsServer(t), TEMPORAL_TLS: 'true' }),
    /^The TLS connection to Temporal at .* failed: self-signed certificate\. Check TEMPORAL_TLS_S/v,
  ],
];

for (const [what, mains, make, words] of temporals) {
  test(`a start exits with a clear message when ${what}`, async (t) => {
    const { url: DATABASE_URL } = await freshDatabase(t);
    const settings = { DATABASE_URL, ...(await freshNamespace()), ...(await make(t)) };
    for (const main of mains) {
      t.regex(await lastWords(t, main, settings), words);
    }
  });
}

const unreachable: readonly (readonly [Settings, RegExp])[] = [
  [
    { DATABASE_URL: 'postgresql://punctual:x@nonsense.invalid/punctual' },
    /"reason":"The database cannot be used: getaddrinfo \w+ nonsense\.invalid\. Check that it runs and takes writes, and DATABASE_URL\."/v,
  ],
  [
    { TEMPORAL_ADDRESS: 'nonsense.invalid:7233' },
    /"reason":"Temporal cannot be reached at nonsense\.invalid:7233: getaddrinfo \w+ nonsense\.invalid\. Check TEMPORAL_ADDRESS\."/v,
  ],
  [
    { TEMPORAL_ADDRESS: '127.0.0.1:1' },
    /"reason":"Temporal cannot be reached at 127\.0\.0\.1:1: connect ECONNREFUSED 127\.0\.0\.1:1\. /v,
  ],
  [
    { TEMPORAL_ADDRESS: new URL(env('PUNCTUAL_TEST_DATABASE_URL')).host },
    /"reason":"Temporal at .* \(TEMPORAL_ADDRESS\) does not answer\. Check that this is the gRPC port of Temporal, usually 7233\."/v,
  ],
];

for (const [settings, words] of unreachable) {
  const [[name, value] = []] = Object.entries(settings);
  test(`a start waits for an unreachable server and names the setting: ${name} ${value}`, async (t) => {
    const { url: DATABASE_URL } = await freshDatabase(t);
    for (const main of name === 'DATABASE_URL' ? api : worker) {
      const child = start(t, main, { DATABASE_URL, ...(await freshNamespace()), ...settings });
      let log = '';
      for await (const chunk of child.stdout) {
        log += String(chunk);
        if (words.test(log)) {
          break;
        }
      }
      t.regex(log, words);
      t.notRegex(log, /tonic|\bstack\b/v);
      t.is(child.exitCode, null);
    }
  });
}
