import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../run-command.ts';
import { type ProcessPart, PartFailedError, type Stage, startPart, untilReady } from './part.ts';
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
  /** `postgres`, or one that is created together with the cluster. */
  readonly database: string;
};

export type PostgresPlan = DatabaseAddress & {
  /** The data folder; created when it does not exist. */
  readonly cluster: string;
  readonly logFile: string;
  readonly env: NodeJS.ProcessEnv;
  readonly rank: number;
  /** Settings by name, as in postgresql.conf. */
  readonly settings: Readonly<Record<string, string>>;
};

/** In milliseconds, including recovery after a crash, when it first replays its log. */
const readyWithinMs = 60_000;

/** The longest time for the children of a killed PostgreSQL to exit, in milliseconds. */
const leftoversExitMs = 10_000;

/**
 * Starts PostgreSQL on the loopback, with its existing data.
 *
 * @returns the database's URL
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
    // Details quote rows and keys: an error about a post would put the post's text into the log.
    log_error_verbosity: 'terse',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const run = commandAs(account, [programs.postgres, '-D', cluster, ...flags]);
  const part = await startWithRetries(plan, run, stage);
  void part.ended.then((how) => stage.onEnd?.(part, how));
  return databaseUrl(plan);
}

/** The database URL for the cluster's superuser. */
function databaseUrl({ port, password, database }: DatabaseAddress): string {
  return `postgresql://${superuser}:${password}@127.0.0.1:${port}/${database}`;
}

/** Retries while the remaining processes of a killed PostgreSQL exit. */
async function startWithRetries(
  { cluster, logFile, env, rank }: PostgresPlan,
  run: ReturnType<typeof commandAs>,
  stage: Stage,
): Promise<ProcessPart> {
  const deadline = Date.now() + leftoversExitMs;
  for (;;) {
    const part = await startPart(
      {
        name: 'PostgreSQL',
        ...run,
        env: postgresEnvironment(env),
        logFile,
        rank,
        // Ends open sessions, while SIGTERM would wait for them.
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

/** The lock file has the process id in the first line and the state in the eighth; `pg_ctl --wait` checks the same. */
async function isReady(cluster: string, pid: number): Promise<boolean> {
  const text = await readFile(path.join(cluster, 'postmaster.pid'), 'utf8').catch(() => '');
  const lines = text.split('\n');
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
}

/** Higher than any process id of a system. */
const impossiblePid = '99999999';

/**
 * Lets PostgreSQL start when another process now has the id of a killed one, as after a restart of a container.
 * PostgreSQL compares only the id, and would refuse to start while that process runs.
 *
 * Keeps the rest of the lock file, with which PostgreSQL checks that no child of the killed process is left.
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

/** Undefined when no process has this id or its command cannot be read. */
async function commandLine(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined);
  }

  const { ok, stdout } = await runCommand('ps', ['-o', 'command=', '-p', String(pid)]);
  return ok ? stdout : undefined;
}
