import { readFile, chown, readdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ExecutionContext } from 'ava';
import type { Stage } from '../../../scripts/parts/part.ts';
import { endProcesses, processIdentity } from '../../../scripts/parts/processes.ts';
import { startPostgres } from '../../../scripts/parts/postgres.ts';
import { startTemporal } from '../../../scripts/parts/temporal.ts';
import { choosePorts, freePort } from '../../../scripts/ports.ts';
import { findTemporal } from '../../../scripts/programs/find-temporal.ts';
import { tcpGate, throughGate, type TcpGate } from '../../support/tcp-gate.ts';
import { Client as PgClient } from 'pg';
import { PlainError } from '../../../scripts/terminal.ts';
import { runCommand } from '../../../scripts/run-command.ts';

/**
 * Copies the data folder of a running PostgreSQL without its backup tools. The WAL is copied last and makes the copy
 * consistent when a server starts on it.
 *
 * @param url For a superuser.
 */
async function copyCluster(url: string, cluster: string, copy: string): Promise<void> {
  const client = new PgClient({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await rm(copy, { recursive: true, force: true });
    await client.query("select pg_backup_start('chaos', true)");
    await copyFolder(cluster, copy);
    const { rows } = await client.query('select labelfile from pg_backup_stop(false)');
    await rm(path.join(copy, 'pg_wal'), { recursive: true, force: true });
    await copyFolder(path.join(cluster, 'pg_wal'), path.join(copy, 'pg_wal'));
    const label = path.join(copy, 'backup_label');
    await writeFile(label, String(rows[0]?.labelfile));
    const { uid, gid } = await stat(path.join(cluster, 'PG_VERSION'));
    await chown(label, uid, gid);
    for (const name of ['postmaster.pid', 'postmaster.opts']) {
      await rm(path.join(copy, name), { force: true });
    }
  } finally {
    await client.end();
  }
}

/** Replaces the data folder of a stopped PostgreSQL with a copy. */
async function putBack(copy: string, cluster: string): Promise<void> {
  await rm(cluster, { recursive: true, force: true });
  await copyFolder(copy, cluster);
}

/** With owners and permissions. Files that were removed meanwhile are left out. */
async function copyFolder(from: string, to: string): Promise<void> {
  const copied = await runCommand('cp', ['-a', from, to], { env: { ...process.env, LC_ALL: 'C' } });
  const complaints = copied.ok
    ? []
    : copied.stderr
        .split('\n')
        .filter((line) => line !== '' && !line.includes('No such file or directory'));
  if (complaints.length > 0 || (await readdir(to)).length === 0) {
    throw new PlainError(`The database could not be copied: ${complaints.join('\n')}`);
  }
}

/** A server that the run stops and restarts. Clients connect through the gate. */
export type Mortal = {
  readonly gate: TcpGate;
  /** Sends SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** Starts it again with its stored data. */
  revive(): Promise<void>;
};

export type Database = Mortal & {
  /** Through the gate, for the product. */
  readonly url: string;
  /** Without the gate, for the run itself. */
  readonly directUrl: string;
  /** Makes a copy of its data. @returns a function that restores the copy while the server is stopped. */
  backUp(): Promise<() => Promise<void>>;
};

/**
 * PostgreSQL in a folder of this run, without fsync: it has to survive the end of its process, but not of the machine.
 */
export async function startDatabase(
  t: ExecutionContext,
  folder: string,
  stage: Stage,
): Promise<Database> {
  const cluster = path.join(folder, 'postgres');
  const port = await freePort();
  const plan = {
    cluster,
    port,
    password: crypto.randomUUID(),
    database: 'punctual',
    logFile: path.join(folder, 'postgres.log'),
    env: process.env,
    rank: 2,
    settings: { fsync: 'off', full_page_writes: 'off', max_connections: '200' },
  };
  const directUrl = await startPostgres(plan, stage);
  const gate = await tcpGate(t, { host: '127.0.0.1', port });
  return {
    directUrl,
    url: throughGate(directUrl, gate),
    gate,
    kill: async () => {
      const lock = await readFile(path.join(cluster, 'postmaster.pid'), 'utf8');
      await killed(Number(lock.split('\n')[0]));
    },
    revive: async () => {
      await startPostgres(plan, stage);
    },
    backUp: async () => {
      const copy = path.join(folder, 'postgres-backup');
      await copyCluster(directUrl, cluster, copy);
      return () => putBack(copy, cluster);
    },
  };
}

export type TemporalServer = Mortal & {
  /** Through the gate. */
  readonly env: Readonly<Record<string, string>>;
  /** Without the gate, for the run itself. */
  readonly directAddress: string;
  readonly namespace: string;
};

/** Temporal's dev server, with its state in a file. */
export async function startDevTemporal(
  t: ExecutionContext,
  folder: string,
  stage: Stage,
): Promise<TemporalServer> {
  const program = await findTemporal({ env: process.env, say: stage.say, signal: stage.signal });
  const variable = 'nothing';
  const ports = await choosePorts({
    grpc: { what: 'Temporal', variable },
    http: { what: "Temporal's HTTP API", variable },
  });
  const plan = {
    program,
    namespace: 'default',
    ports,
    stateFile: path.join(folder, 'temporal.db'),
    logFile: path.join(folder, 'temporal.log'),
    env: process.env,
    rank: 1,
  };
  let part = await startTemporal(plan, stage);
  const gate = await tcpGate(t, { host: '127.0.0.1', port: ports.grpc });
  return {
    env: { TEMPORAL_ADDRESS: gate.address, TEMPORAL_NAMESPACE: 'default' },
    directAddress: `127.0.0.1:${ports.grpc}`,
    namespace: 'default',
    gate,
    kill: () => killed(part.pid),
    revive: async () => {
      part = await startTemporal(plan, stage);
    },
  };
}

/** @param pid A process that this run has started. */
export async function killed(pid: number): Promise<void> {
  const identity = await processIdentity(pid);
  if (identity !== undefined) {
    const name = 'a server';
    process.kill(pid, 'SIGKILL');
    await endProcesses([[{ name, pid, identity, signal: 'SIGTERM', graceMs: 10_000 }]]);
  }
}
