import { chown, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ExecutionContext } from 'ava';
import pino from 'pino';
import { createPool } from '../../api/http/authenticate.ts';
import { connectionRefusal } from '../../db/database-errors.ts';
import { createOrm } from '../../db/orm.ts';
import { readConfig } from '../../runtime/config/read-config.ts';
import { databaseConnection } from '../../runtime/config/database-connection.ts';
import { startGuard } from '../../scripts/parts/guard.ts';
import { startPostgres } from '../../scripts/parts/postgres.ts';
import { freePort } from '../../scripts/ports.ts';
import { runCommand } from '../../scripts/run-command.ts';
import { runAdmin } from '../cli/admin/admin.ts';
import { patience } from '../support/database.ts';
import { needs } from '../support/needs.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const test = needs('postgres', 'openssl');

async function openssl(...args: readonly string[]): Promise<void> {
  const { ok, stderr } = await runCommand('openssl', [...args]);
  if (!ok) {
    throw new Error(stderr);
  }
}

async function makeCa(folder: string, name: string): Promise<void> {
  const at = (ending: string) => path.join(folder, `${name}.${ending}`);
  const files = ['-keyout', at('key'), '-out', at('pem')];
  await openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', `/CN=${name}`, ...files); // prettier-ignore
}

async function makeCertificate(folder: string, name: string, alt: string) {
  const at = (ending: string) => path.join(folder, `${name}.${ending}`);
  const ca = (ending: string) => path.join(folder, `ca.${ending}`);
  await writeFile(at('ext'), `subjectAltName=${alt}\n`);
  await openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', `/CN=${name}`, '-keyout', at('key'), '-out', at('csr')); // prettier-ignore
  await openssl('x509', '-req', '-days', '2', '-in', at('csr'), '-CA', ca('pem'), '-CAkey', ca('key'), '-CAcreateserial', '-extfile', at('ext'), '-out', at('pem')); // prettier-ignore
}

/** A PostgreSQL without TLS at first, and functions to change it. */
async function ownServer(t: ExecutionContext) {
  const guard = startGuard();
  t.teardown(() => guard.endAll());
  const folder = await temporaryFolder(t);
  const cluster = path.join(folder, 'postgres');
  const address = await startPostgres(
    {
      port: await freePort(),
      password: 'a'.repeat(32),
      database: 'punctual',
      cluster,
      logFile: path.join(folder, 'postgres.log'),
      env: process.env,
      rank: 0,
      settings: { fsync: 'off' },
    },
    { guard, say: () => undefined, signal: new AbortController().signal },
  );
  const { uid, gid } = await stat(cluster);
  const give = async (name: string, content: string): Promise<void> => {
    const file = path.join(cluster, name);
    await writeFile(file, content, { mode: 0o600 });
    await chown(file, uid, gid);
  };
  const inFolder = (name: string) => path.join(folder, name);
  return {
    folder,
    inFolder,
    url: address.replace('127.0.0.1', 'localhost'),
    /** Makes the server accept TLS connections only, with this certificate. */
    demandTls: async (certificate: string, clients = '', adminQuery = ''): Promise<void> => {
      await give('server.crt', await readFile(inFolder(`${certificate}.pem`), 'utf8'));
      await give('server.key', await readFile(inFolder(`${certificate}.key`), 'utf8'));
      await give('root.crt', await readFile(inFolder('ca.pem'), 'utf8'));
      await give('pg_hba.conf', `hostssl all all all scram-sha-256 ${clients}\n`);
      const orm = createOrm(`${address}${adminQuery}`, patience);
      await orm.em.execute('alter system set ssl = on');
      await orm.em.execute(`alter system set ssl_ca_file = 'root.crt'`);
      await orm.em.execute('select pg_reload_conf()');
      await orm.close();
    },
  };
}

type Session = { readonly ssl: boolean };
const asked = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()';

/** Connects the ORM's pool and the API's pool for limits. @returns for each whether it is encrypted, or the refusal. */
async function connections(url: string): Promise<unknown[]> {
  const orm = createOrm(url, patience);
  const pool = createPool(url, pino({ level: 'silent' }));
  try {
    return await Promise.all([
      orm.em.execute<Session[]>(asked).then(([row]) => row?.ssl, connectionRefusal),
      pool.query<Session>(asked).then(({ rows: [row] }) => row?.ssl, connectionRefusal),
    ]);
  } finally {
    await Promise.all([orm.close(), pool.end()]);
  }
}

test('every pool follows the TLS parameters of DATABASE_URL', async (t) => {
  const { url, folder, inFolder, demandTls } = await ownServer(t);
  const both = async (query: string, expected: unknown): Promise<void> => {
    for (const got of await connections(`${url}${query}`)) {
      if (expected instanceof RegExp) {
        t.regex(String(got), expected, query);
      } else {
        t.is(got, expected, query);
      }
    }
  };
  await both('', false);
  await both('?sslmode=disable', false);
  for (const mode of ['require', 'no-verify', 'verify-full']) {
    await both(`?sslmode=${mode}`, /^DATABASE_URL asks for TLS .* does not offer it/v);
  }

  await makeCa(folder, 'ca');
  await makeCa(folder, 'other');
  await makeCertificate(folder, 'server', 'DNS:localhost');
  await makeCertificate(folder, 'elsewhere', 'DNS:db.example');
  await makeCertificate(folder, 'punctual', 'DNS:client');
  const [ca, other] = [inFolder('ca.pem'), inFolder('other.pem')];
  await demandTls('server');
  await both('', /no encryption\. The server may require TLS: add sslmode/v);
  await both('?sslmode=disable', /no encryption/v);
  await both('?sslmode=require', true);
  await both('?sslmode=no-verify', true);
  await both(`?sslmode=verify-full&sslrootcert=${ca}`, true);
  await both(`?sslmode=verify-ca&sslrootcert=${ca}&application_name=punctual`, true);
  const untrusted = /^The TLS connection to the PostgreSQL server failed: .*certificate/v;
  await both('?sslmode=verify-full', untrusted);
  for (const mode of ['require', 'verify-ca', 'verify-full']) {
    await both(`?sslmode=${mode}&sslrootcert=${other}`, untrusted);
  }

  await demandTls('elsewhere', '', '?sslmode=require');
  await both(`?sslmode=verify-ca&sslrootcert=${ca}`, true);
  await both(`?sslmode=verify-full&sslrootcert=${ca}`, /for another host .*db\.example/v);

  await demandTls('server', 'clientcert=verify-full', '?sslmode=require');
  await both('?sslmode=require', /client certificate/v);
  const [cert, key] = [inFolder('punctual.pem'), inFolder('punctual.key')];
  const whole = `?sslmode=verify-full&sslrootcert=${ca}&sslcert=${cert}&sslkey=${key}`;
  await both(whole, true);
  await both(
    whole.replace(key, inFolder('server.key')),
    /^The TLS connection .*key values mismatch/v,
  );

  const secret = { SECRET_KEY: 'ab'.repeat(32) };
  const cli = (query: string) =>
    runAdmin(['migrate'], { ...secret, DATABASE_URL: `${url}${query}` });
  const wrong = await cli(whole.replace(ca, other));
  t.is(wrong.code, 1);
  t.regex(wrong.stderr, /^The TLS connection .* Check sslrootcert[^\n]*\n$/v);
  t.is((await cli(whole)).code, 0);
});

test('an unsupported TLS parameter is refused by name', (t) => {
  const address = 'postgresql://u:p@db.example/punctual';
  const wrong: [string, RegExp][] = [
    ['sslmode=prefer', /sslmode=prefer may connect without encryption/v],
    ['sslmode=on', /"on" is not a valid sslmode\. Use one of disable, require/v],
    ['sslmode=verify-ca', /needs sslrootcert/v],
    ['sslmode=require&sslrootcert=system', /sslrootcert=system needs sslmode=verify-full/v],
    ['sslmode=require&sslrootcert=/nowhere/ca.pem', /sslrootcert cannot be read: ENOENT/v],
    ['sslmode=require&sslcert=/nowhere/a.pem', /sslcert and sslkey need each other/v],
    ['sslmode=require&sslcompression=1', /parameter "sslcompression", which is not supported/v],
  ];
  for (const [query, message] of wrong) {
    t.throws(() => databaseConnection(`${address}?${query}`), { message }, query);
  }

  const settings = { DATABASE_URL: `${address}?sslmode=prefer`, SECRET_KEY: 'ab'.repeat(32) };
  t.throws(() => readConfig(settings), { name: 'ConfigError', message: /DATABASE_URL: sslmode/v });
  t.deepEqual(databaseConnection(`${address}?prepare=no&sslmode=disable`), {
    connectionString: `${address}?prepare=no`,
    ssl: false,
  });
});
