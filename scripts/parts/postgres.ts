import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../run-command.ts';
import { type Part, PartFailedError, type Stage, startPart, untilReady } from './part.ts';
import { commandAs, postgresAccount } from './postgres-account.ts';
import {
  ensureCluster,
  postgresEnvironment,
  postgresPrograms,
  superuser,
} from './postgres-cluster.ts';

export type DatabaseAddress = {
  readonly port: number;
  readonly password: string;
  /** `postgres`, or one that is made together with the cluster. */
  readonly database: string;
};

export type PostgresPlan = DatabaseAddress & {
  /** The folder of the data; made when it is not there. */
  readonly cluster: string;
  readonly logFile: string;
  readonly env: NodeJS.ProcessEnv;
  readonly rank: number;
  /** Settings by name, as in postgresql.conf. */
  readonly settings: Readonly<Record<string, string>>;
};

/** Milliseconds until it serves, also after a crash, when it first repeats what its log holds. */
const readyWithinMs = 60_000;

/** Milliseconds that the children of a killed PostgreSQL may take to notice. */
const leftoversGoneWithinMs = 10_000;

/**
 * Starts PostgreSQL on the loopback, with the data of before.
 *
 * @returns the database's address
 * @throws PlainError
 */
export async function startPostgres(plan: PostgresPlan, stage: Stage): Promise<string> {
  const { cluster, port, env } = plan;
  const programs = await postgresPrograms();
  const account = await postgresAccount(cluster, path.dirname(programs.postgres), env);
  await ensureCluster({ ...plan, programs, account });
  await forgetStalePid(cluster);
  const settings = {
    ...plan.settings,
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // Its details quote rows and keys: a constraint that a post breaks would bring the post's text into the log.
    log_error_verbosity: 'terse',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const run = commandAs(account, [programs.postgres, '-D', cluster, ...flags]);
  const part = await startWithRetries(plan, run, stage);
  void part.ended.then((how) => stage.onEnd?.(part, how));
  return databaseUrl(plan);
}

/** The address of a database for the cluster's superuser. */
function databaseUrl({ port, password, database }: DatabaseAddress): string {
  return `postgresql://${superuser}:${password}@127.0.0.1:${port}/${database}`;
}

/** Tries again while what a killed PostgreSQL left behind is still going away. */
async function startWithRetries(
  { cluster, logFile, env, rank }: PostgresPlan,
  run: ReturnType<typeof commandAs>,
  stage: Stage,
): Promise<Part> {
  const deadline = Date.now() + leftoversGoneWithinMs;
  for (;;) {
    const part = await startPart(
      {
        name: 'PostgreSQL',
        ...run,
        env: postgresEnvironment(env),
        logFile,
        rank,
        // Ends sessions that are open, where SIGTERM would wait for them.
        signal: 'SIGINT',
        graceMs: 30_000,
        complaint: (line) => /(?:FATAL|PANIC): .*/v.exec(line)?.[0],
      },
      stage,
    );
    try {
      await untilReady(part, () => isReady(cluster, part.pid), readyWithinMs, stage.signal);
      return part;
    } catch (error) {
      const isLeftover =
        error instanceof PartFailedError && /still in use|postmaster\.pid/v.test(error.message);
      if (!isLeftover || Date.now() > deadline) {
        throw error;
      }
    }
    await sleep(250);
  }
}

/** The first line of its lock file is its number, the eighth its state: so does `pg_ctl --wait` look. */
async function isReady(cluster: string, pid: number): Promise<boolean> {
  const text = await readFile(path.join(cluster, 'postmaster.pid'), 'utf8').catch(() => '');
  const lines = text.split('\n');
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
}

/** Higher than any process number that a system gives out. */
const impossiblePid = '99999999';

/**
 * Lets PostgreSQL start where another process has been given the number of one that was killed, as after a restart
 * of a container. It compares nothing but the number, and would refuse for as long as that other process lives.
 *
 * The rest of its lock file stays, since by it PostgreSQL makes sure that no child of the killed one is left.
 */
async function forgetStalePid(cluster: string): Promise<void> {
  const file = path.join(cluster, 'postmaster.pid');
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) {
    return;
  }

  const [pid = '', ...rest] = text.split('\n');
  const command = await commandLine(Number(pid));
  if (command !== undefined && !command.includes('postgres')) {
    await writeFile(file, [impossiblePid, ...rest].join('\n'));
  }
}

/** Undefined when nothing runs under that number, or it cannot be found out what. */
async function commandLine(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined);
  }

  const { ok, stdout } = await runCommand('ps', ['-o', 'command=', '-p', String(pid)]);
  return ok ? stdout : undefined;
}
