import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { migrate } from '../../db/migrate.ts';
import { createOrm, type Orm } from '../../db/orm.ts';
import { createSealer, type Sealer } from '../../runtime/sealer.ts';
import { startApp } from '../../scripts/parts/app.ts';
import type { Stage } from '../../scripts/parts/part.ts';
import { startTemporal, withoutTemporal } from '../../scripts/parts/temporal.ts';
import { choosePorts } from '../../scripts/ports.ts';
import { findTemporal } from '../../scripts/programs/find-temporal.ts';
import { connectTemporal, type Temporal } from '../../temporal/connect.ts';
import { lastPolls } from '../../temporal/last-polls.ts';
import { startDatabase } from '../api/database.ts';

/** Punctual but for its API, in processes of its own. */
export type Whole = {
  readonly orm: Orm;
  readonly sealer: Sealer;
  readonly temporal: Temporal;
  /** Settings of our processes. */
  readonly env: Readonly<Record<string, string>>;
};

const root = path.join(import.meta.dirname, '..', '..');

/**
 * Starts PostgreSQL, Temporal's dev server with its state in a file, and a worker, each set as `npm start` sets it.
 *
 * @param networkPorts Where networks listen on 127.0.0.1.
 */
export async function startWhole(
  folder: string,
  networkPorts: readonly number[],
  stage: Stage,
): Promise<Whole> {
  const databaseUrl = await startDatabase(folder, stage);
  const temporalEnv = await startTemporalIn(folder, stage);
  const secretKey = randomBytes(32).toString('hex');
  const env = {
    ...temporalEnv,
    DATABASE_URL: databaseUrl,
    SECRET_KEY: secretKey,
    PUNCTUAL_MEDIA_DIR: path.join(folder, 'media'),
    PUNCTUAL_EGRESS_ALLOW_NETWORKS: networkPorts.map((port) => `127.0.0.1/32:${port}`).join(','),
  };
  const orm = createOrm(databaseUrl, { poolSize: 10, queryTimeoutMs: 120_000 });
  await migrate(orm);
  const logFile = path.join(folder, 'worker.log');
  const main = 'worker/main.ts';
  const settings = { ...withoutTemporal(process.env), ...env };
  const plan = { name: 'worker', main, env: settings, logFile, rank: 0, graceMs: 15_000 };
  await startApp(plan, root, stage);
  const temporal = connectTemporal(env);
  while (!(await lastPolls(temporal, 2000))?.length) {
    stage.signal.throwIfAborted();
    await sleep(200);
  }

  return { orm, sealer: createSealer(secretKey), temporal, env };
}

async function startTemporalIn(folder: string, stage: Stage): Promise<Record<string, string>> {
  const program = await findTemporal({ env: process.env, say: stage.say, signal: stage.signal });
  const variable = 'nothing';
  const ports = await choosePorts({
    grpc: { what: 'Temporal', variable },
    http: { what: "Temporal's HTTP API", variable },
  });
  const namespace = 'default';
  const logFile = path.join(folder, 'temporal.log');
  const stateFile = path.join(folder, 'temporal.db');
  const plan = { program, namespace, ports, stateFile, logFile, env: process.env, rank: 1 };
  // What it complains of while it is hurried is in its log.
  await startTemporal(plan, { ...stage, say: () => undefined });
  return { TEMPORAL_ADDRESS: `127.0.0.1:${ports.grpc}`, TEMPORAL_NAMESPACE: namespace };
}
