import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { chmod, cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../scripts/ports.ts';
import { createOrm } from '../../db/orm.ts';
import { env } from './env.ts';

const nobody = 65_534;
const startsWithinMs = 60_000;

/**
 * Starts PgBouncer in transaction mode before the tests' PostgreSQL, with a fixed number of server connections for each
 * user and database. It ends with this process.
 *
 * @returns the address of the server's databases through it.
 */
export async function startPgbouncer(connections: number): Promise<string> {
  const server = new URL(env('PUNCTUAL_TEST_DATABASE_URL'));
  const folder = await mkdtemp(path.join(tmpdir(), 'punctual-pgbouncer-'));
  const port = await freePort();
  // PgBouncer refuses to run as root, and the user that it runs as may not enter a home folder.
  const root = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
  const program = path.join(folder, 'pgbouncer');
  await cp(env('PUNCTUAL_TEST_PGBOUNCER_PATH'), program);
  const lib = path.join(path.dirname(env('PUNCTUAL_TEST_PGBOUNCER_PATH')), '..', 'lib');
  const files = {
    'pgbouncer.ini': settings(server, port, folder, connections),
    users: users(server),
  };
  for (const [name, text] of Object.entries(files)) {
    await writeFile(path.join(folder, name), text);
  }

  await cp(lib, path.join(folder, 'lib'), { recursive: true }).catch(() => undefined);
  await chmod(folder, 0o755);
  const log = path.join(folder, 'log');
  await writeFile(log, '');
  await chmod(log, 0o666);
  const child = spawn(program, [path.join(folder, 'pgbouncer.ini')], {
    stdio: 'ignore',
    env: { LD_LIBRARY_PATH: path.join(folder, 'lib') },
    ...root,
  });
  child.unref();
  // Hooks at the end of tests still need it.
  process.once('exit', () => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const url = new URL(server);
  url.port = String(port);
  // Debian 12 has PgBouncer 1.18, which does not support prepared statements.
  url.searchParams.set('prepare', 'no');
  for (const endMs = Date.now() + startsWithinMs; !(await answers(url.href)); await sleep(100)) {
    if (Date.now() > endMs || child.exitCode !== null) {
      const words = await readFile(log, 'utf8');
      throw new Error(`PgBouncer did not start. The end of its log: ${words.slice(-1000)}`);
    }
  }

  return url.href;
}

const settings = (server: URL, port: number, folder: string, connections: number): string => `
[databases]
* = host=${server.hostname} port=${server.port}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
logfile = ${path.join(folder, 'log')}
auth_type = scram-sha-256
auth_file = ${path.join(folder, 'users')}
auth_user = ${server.username}
auth_query = select usename, passwd from pg_shadow where usename = $1
pool_mode = transaction
default_pool_size = ${connections}
max_client_conn = 2000
ignore_startup_parameters = extra_float_digits,options
server_idle_timeout = 5
`;

const users = ({ username, password }: URL): string =>
  `"${username}" "${decodeURIComponent(password)}"\n`;

async function answers(url: string): Promise<boolean> {
  const orm = createOrm(url, { poolSize: 1 });
  try {
    await orm.em.fork().execute('select 1');
    return true;
  } catch {
    return false;
  } finally {
    await orm.close();
  }
}
