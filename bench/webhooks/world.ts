import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { migrate } from '../../db/migrate.ts';
import { createOrm, type Orm } from '../../db/orm.ts';
import { createSealer, type Sealer } from '../../runtime/secrets.ts';
import { startApp } from '../../scripts/parts/app.ts';
import { respondsAt, type ProcessPart, type Stage, untilReady } from '../../scripts/parts/part.ts';
import { freePort } from '../../scripts/ports.ts';
import { findServer, root, startDatabase, type Ground } from '../runner/processes.ts';
import { postmasterPid } from '../runner/processor-time.ts';

/** Shared by all runs. */
export type World = Ground & {
  readonly orm: Orm;
  readonly sealer: Sealer;
  readonly postgresPid: number;
  readonly receiver: { readonly url: string; readonly pid: number };
  /** Settings of the product's worker. */
  readonly workerEnv: Readonly<Record<string, string>>;
};

/** Starts PostgreSQL and the receiver. */
export async function makeWorld(
  folder: string,
  stage: Stage,
  profile: string | undefined,
): Promise<World> {
  const temporal = await findServer(stage);
  const databaseUrl = await startDatabase(folder, stage);
  const orm = createOrm(databaseUrl, { queryTimeoutMs: 120_000 });
  await migrate(databaseUrl);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const { pid } = await startReceiver(folder, stage, { port, url });
  const secretKey = randomBytes(32).toString('hex');
  return {
    folder,
    stage,
    profile,
    temporal,
    orm,
    sealer: createSealer(secretKey),
    postgresPid: await postmasterPid(orm),
    receiver: { url, pid },
    workerEnv: {
      DATABASE_URL: databaseUrl,
      SECRET_KEY: secretKey,
      PUNCTUAL_EGRESS_ALLOW_WEBHOOKS: `127.0.0.1/32:${port}`,
      PUNCTUAL_MEDIA_DIR: path.join(folder, 'media'),
    },
  };
}

async function startReceiver(
  folder: string,
  stage: Stage,
  { port, url }: { readonly port: number; readonly url: string },
): Promise<ProcessPart> {
  const env = { PATH: process.env['PATH'], PORT: String(port) };
  const logFile = path.join(folder, 'receiver.log');
  const main = 'bench/webhooks/receiver.ts';
  // It ends after the worker, which may still have requests under way.
  const plan = { name: 'receiver', main, env, logFile, rank: 1, graceMs: 5000 };
  const receiver = await startApp(plan, root, stage);
  await untilReady(receiver, () => respondsAt(url), 30_000, stage.signal);
  return receiver;
}

/** The receiver's response. */
export type Received = {
  /**
   * Path and event id of each webhook, and its arrival in milliseconds since 1970. A repeated arrival has two entries.
   */
  readonly arrivals: readonly (readonly [mark: string, atMs: number])[];
  /** The most concurrent requests that waited for a response that never comes. */
  readonly mostSilent: number;
};

export async function askReceiver(url: string): Promise<Received> {
  const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  return (await response.json()) as Received;
}
