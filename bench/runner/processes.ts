import { randomBytes, randomUUID } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { migrate } from '../../db/migrate.ts';
import { createOrm, type Orm } from '../../db/orm.ts';
import { createSealer, type Sealer } from '../../runtime/secrets.ts';
import { startApp } from '../../scripts/parts/app.ts';
import {
  respondsAt,
  startPart,
  untilReady,
  type ProcessPart,
  type Stage,
} from '../../scripts/parts/part.ts';
import { startPostgres } from '../../scripts/parts/postgres.ts';
import { startTemporal, withoutTemporal, type TemporalPlan } from '../../scripts/parts/temporal.ts';
import { freePort } from '../../scripts/ports.ts';
import { findTemporal } from '../../scripts/programs/find-temporal.ts';
import { connectTemporal, type Temporal } from '../../temporal/connect.ts';
import { lastPolls } from '../../temporal/workflow-states.ts';
import { postmasterPid } from './processor-time.ts';

// Starts the real parts like `npm start` does, as processes.

/** The context for fresh servers and workers. */
export type Ground = {
  readonly folder: string;
  readonly stage: Stage;
  /** The program whose dev server runs the workflows. */
  readonly temporal: string;
  /** A folder for Node's CPU profiles of workers. */
  readonly profile?: string | undefined;
};

export const root = path.join(import.meta.dirname, '..', '..');

/**
 * Starts a PostgreSQL server for the bench, with durable commits.
 *
 * @param settings Settings that differ from the defaults. @returns its URL.
 */
export async function startDatabase(
  folder: string,
  stage: Stage,
  settings: Readonly<Record<string, string>> = {},
): Promise<string> {
  return startPostgres(
    {
      cluster: path.join(folder, 'postgres'),
      port: await freePort(),
      password: randomUUID(),
      database: 'punctual',
      logFile: path.join(folder, 'postgres.log'),
      env: process.env,
      rank: 1,
      settings,
    },
    // At the end it reports its shutdown as an error.
    { ...stage, say: () => undefined },
  );
}

/** Finds the program of Temporal's dev server. */
export const findServer = ({ say, signal }: Stage): Promise<string> =>
  findTemporal({ env: process.env, say, signal });

/** Starts a Temporal dev server with an empty state file. @returns the server and the settings of its clients. */
export async function startTemporalServer(
  { folder, temporal: program, stage }: Ground,
  journal?: TemporalPlan['journal'],
): Promise<{ part: ProcessPart; env: { TEMPORAL_ADDRESS: string; TEMPORAL_NAMESPACE: string } }> {
  const name = randomUUID();
  const ports = { grpc: await freePort(), http: await freePort() };
  const part = await startTemporal(
    {
      program,
      namespace: 'default',
      ports,
      stateFile: path.join(folder, `${name}.db`),
      ...(journal && { journal }),
      logFile: path.join(folder, `temporal-${name}.log`),
      env: process.env,
      rank: 1,
    },
    // Its errors under load are in its log.
    { ...stage, say: () => undefined },
  );
  const address = `127.0.0.1:${ports.grpc}`;
  return { part, env: { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: 'default' } };
}

/** Starts a worker process and waits until it polls. @param env Settings in addition to this process's. */
export async function startWorker(
  { folder, stage, profile }: Ground,
  { name, main }: { readonly name: string; readonly main: string },
  env: NodeJS.ProcessEnv,
): Promise<ProcessPart> {
  const nodeOptions = profile === undefined ? '' : `--cpu-prof --cpu-prof-dir=${profile}`;
  const part = await startApp(
    {
      name,
      main,
      env: {
        ...withoutTemporal(process.env),
        ...env,
        LOG_LEVEL: 'info',
        NODE_OPTIONS: nodeOptions,
      },
      logFile: path.join(folder, `${name}-${randomUUID()}.log`),
      rank: 0,
      graceMs: 60_000,
    },
    root,
    stage,
  );
  const polls = () => Promise.resolve(part.readLastOutput().includes('"msg":"polling"'));
  await untilReady(part, polls, 60_000, stage.signal);
  return part;
}

export type ServerPlan = {
  readonly name: string;
  /** Arguments of Node: flags and the program. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
};

export type Server = {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  readonly part: ProcessPart;
};

/** Starts an HTTP server of ours on a free port, and waits until it answers `GET /healthz`. */
export async function startServer(
  { name, args, env, folder }: ServerPlan,
  stage: Stage,
): Promise<Server> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const part = await startPart(
    {
      name,
      command: [process.execPath, ...args],
      cwd: root,
      env: { ...process.env, ...env, HOST: '127.0.0.1', PORT: String(port) },
      logFile: path.join(folder, `${name}-${port}.log`),
      rank: 0,
      graceMs: 5000,
    },
    stage,
  );
  await untilReady(part, () => respondsAt(`${origin}/healthz`), 30_000, stage.signal);
  return { origin, part };
}

/** Punctual without its API. */
export type System = {
  readonly orm: Orm;
  readonly sealer: Sealer;
  readonly temporal: Temporal;
  /** Settings of our processes. */
  readonly env: Readonly<Record<string, string>>;
  readonly pids: Readonly<Record<'worker' | 'temporal' | 'postgres', readonly number[]>>;
};

/**
 * Starts PostgreSQL, Temporal's dev server with a state file, and a worker.
 *
 * @param networkPorts Ports of networks on 127.0.0.1.
 */
export async function startSystem(
  folder: string,
  networkPorts: readonly number[],
  stage: Stage,
): Promise<System> {
  const databaseUrl = await startDatabase(folder, stage);
  const server = await startTemporalServer({ folder, stage, temporal: await findServer(stage) });
  const secretKey = randomBytes(32).toString('hex');
  const env = {
    ...server.env,
    DATABASE_URL: databaseUrl,
    SECRET_KEY: secretKey,
    PUNCTUAL_MEDIA_DIR: path.join(folder, 'media'),
    PUNCTUAL_EGRESS_ALLOW_NETWORKS: networkPorts.map((port) => `127.0.0.1/32:${port}`).join(','),
  };
  const orm = createOrm(databaseUrl, { poolSize: 10, queryTimeoutMs: 120_000 });
  await migrate(databaseUrl);
  const logFile = path.join(folder, 'worker.log');
  const main = 'worker/main.ts';
  const settings = { ...withoutTemporal(process.env), ...env };
  const plan = { name: 'worker', main, env: settings, logFile, rank: 0, graceMs: 15_000 };
  const worker = await startApp(plan, root, stage);
  const temporal = connectTemporal(env);
  while (!(await lastPolls(temporal, 2000))?.length) {
    stage.signal.throwIfAborted();
    await sleep(200);
  }

  const pids = {
    worker: [worker.pid],
    temporal: [server.part.pid],
    postgres: [await postmasterPid(orm)],
  };
  return { orm, sealer: createSealer(secretKey), temporal, env, pids };
}
