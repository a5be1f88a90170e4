import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Connection } from '@temporalio/client';
import type { ExecutionContext } from 'ava';
import {
  respondsAt,
  startPart,
  untilReady,
  type ProcessPart,
  type Stage,
} from '../../../scripts/parts/part.ts';
import { startPostgres } from '../../../scripts/parts/postgres.ts';
import { superuser } from '../../../scripts/parts/postgres-cluster.ts';
import { withoutTemporal } from '../../../scripts/parts/temporal.ts';
import { PlainError, type Say, withProgress } from '../../../scripts/terminal.ts';
import { runCommand } from '../../../scripts/run-command.ts';
import { freePort } from '../../../scripts/ports.ts';
import { tcpGate } from '../../support/tcp-gate.ts';
import { killed, type TemporalServer } from '../parts/servers.ts';
import { lowPorts } from './low-ports.ts';
import { addToCache, cached, cacheFolder, onPath } from '../../../scripts/programs/find-program.ts';

const version = 'v1.31.2';
const folderName = `temporal-server-${version.slice(1)}`;
const packages = ['go.temporal.io/server/cmd/server', 'go.temporal.io/server/cmd/tools/sql'];

/** Temporal's production server, and the tool that creates its tables. */
type ServerPrograms = { readonly server: string; readonly sql: string };

/**
 * Builds Temporal's production server once, which takes about 6 minutes on two cores, into the user's cache folder.
 *
 * @throws PlainError with the reason when Go is missing or the build fails.
 */
async function buildServer(say: Say, signal: AbortSignal): Promise<ServerPrograms> {
  const { env } = process;
  const folder = path.join(cacheFolder(env), folderName);
  const programs = { server: path.join(folder, 'server'), sql: path.join(folder, 'sql') };
  const found = await cached(folderName, path.join(folderName, 'server')).find({
    env,
    say,
    signal,
  });
  if ('path' in found) {
    return programs;
  }

  const go = await onPath('go', env);
  if (!go) {
    throw new PlainError('Cannot build the Temporal server: no `go` on PATH.');
  }

  const title = `Building Temporal's server ${version} with Go (about 6 minutes, once)`;
  await addToCache(env, folderName, (workshop) =>
    withProgress(say, title, async () => {
      for (const name of packages) {
        const built = await runCommand(go, ['install', `${name}@${version}`], {
          // Another GOOS or GOARCH would build for another machine, into another folder.
          env: { ...env, GOBIN: path.join(workshop, 'programs'), GOOS: '', GOARCH: '' },
          signal,
        });
        if (!built.ok) {
          throw new PlainError(`Could not build ${name}: ${built.stderr.trim().slice(-1000)}`);
        }
      }

      return path.join(workshop, 'programs');
    }),
  );
  return programs;
}

const readyWithinMs = 120_000;
const namespace = 'default';

/** Temporal's databases with their schemas. */
const databases = {
  temporal: 'postgresql/v12/temporal',
  temporal_visibility: 'postgresql/v12/visibility',
} as const;

type Account = { readonly port: string; readonly password: string };

/**
 * Temporal's production server: four services in one process, with a PostgreSQL of its own, so that outages of the
 * product's database do not affect it.
 */
export async function startRealTemporal(
  t: ExecutionContext,
  folder: string,
  stage: Stage,
): Promise<TemporalServer> {
  const programs = await buildServer((line) => console.log(line), stage.signal);
  const account = await startItsDatabase(folder, stage);
  await makeTables(programs, account);
  const ports = await lowPorts(portNames);
  const env = await serverEnv(folder, account, ports);
  const start = (): Promise<ProcessPart> => startServer(programs, { folder, env, ports }, stage);
  let part = await start();
  await registerNamespace(ports.FRONTEND_GRPC_PORT);
  const gate = await tcpGate(t, { host: '127.0.0.1', port: ports.FRONTEND_GRPC_PORT });
  return {
    env: { TEMPORAL_ADDRESS: gate.address, TEMPORAL_NAMESPACE: namespace },
    directAddress: `127.0.0.1:${ports.FRONTEND_GRPC_PORT}`,
    namespace,
    gate,
    kill: () => killed(part.pid),
    revive: async () => {
      part = await start();
    },
  };
}

async function startItsDatabase(folder: string, stage: Stage): Promise<Account> {
  const [port, password] = [await freePort(), crypto.randomUUID()];
  await startPostgres(
    {
      cluster: path.join(folder, 'temporal-postgres'),
      port,
      password,
      database: 'postgres',
      logFile: path.join(folder, 'temporal-postgres.log'),
      env: process.env,
      rank: 2,
      settings: { fsync: 'off', full_page_writes: 'off', max_connections: '200' },
    },
    stage,
  );
  return { port: String(port), password };
}

/** @throws PlainError with the tool's output. */
async function makeTables({ sql }: ServerPrograms, { port, password }: Account): Promise<void> {
  for (const [database, schema] of Object.entries(databases)) {
    const to = ['--endpoint', '127.0.0.1', '--port', port, '--plugin', 'postgres12_pgx'];
    const as = ['--user', superuser, '--database', database];
    const steps = [
      ['create-database', '--defaultdb', 'postgres'],
      ['setup-schema', '--version', '0.0'],
      ['update-schema', '--schema-name', schema],
    ];
    for (const step of steps) {
      const env = { ...process.env, SQL_PASSWORD: password };
      const made = await runCommand(sql, [...to, ...as, ...step], { env });
      if (!made.ok) {
        throw new PlainError(`Temporal's tables: ${step[0]}: ${made.stdout}${made.stderr}`);
      }
    }
  }
}

/** Ports for requests and for the membership protocol of each service; the frontend has one more for HTTP. */
const portNames = [
  'FRONTEND_GRPC_PORT',
  'FRONTEND_HTTP_PORT',
  'FRONTEND_MEMBERSHIP_PORT',
  'HISTORY_GRPC_PORT',
  'HISTORY_MEMBERSHIP_PORT',
  'MATCHING_GRPC_PORT',
  'MATCHING_MEMBERSHIP_PORT',
  'WORKER_GRPC_PORT',
  'WORKER_MEMBERSHIP_PORT',
] as const;
type Ports = Readonly<Record<(typeof portNames)[number], number>>;

async function serverEnv(
  folder: string,
  { port, password }: Account,
  ports: Ports,
): Promise<NodeJS.ProcessEnv> {
  const dynamicConfig = path.join(folder, 'temporal-dynamic.yaml');
  await writeFile(dynamicConfig, '{}\n');
  return {
    ...withoutTemporal(process.env),
    ...Object.fromEntries(Object.entries(ports).map(([name, each]) => [name, String(each)])),
    DB: 'postgres12_pgx',
    POSTGRES_SEEDS: '127.0.0.1',
    POSTGRES_USER: superuser,
    POSTGRES_PWD: password,
    DB_PORT: port,
    BIND_ON_IP: '127.0.0.1',
    TEMPORAL_BROADCAST_ADDRESS: '127.0.0.1',
    DYNAMIC_CONFIG_FILE_PATH: dynamicConfig,
    LOG_LEVEL: 'warn',
  };
}

async function startServer(
  { server }: ServerPrograms,
  { folder, env, ports }: { folder: string; env: NodeJS.ProcessEnv; ports: Ports },
  stage: Stage,
): Promise<ProcessPart> {
  const part = await startPart(
    {
      name: "Temporal's server",
      command: [server, '--allow-no-auth', 'start'],
      env,
      logFile: path.join(folder, 'temporal.log'),
      rank: 1,
      graceMs: 30_000,
    },
    stage,
  );
  // Responds 404 both before the namespace exists and after, when the workflow is missing.
  const nowhere = `http://127.0.0.1:${ports.FRONTEND_HTTP_PORT}/api/v1/namespaces/${namespace}/workflows/none`;
  await untilReady(part, () => respondsAt(nowhere, 404), readyWithinMs, stage.signal);
  return part;
}

/** Each service accepts the namespace only a moment after its registration. */
async function registerNamespace(port: number): Promise<void> {
  const connection = await Connection.connect({ address: `127.0.0.1:${port}` });
  try {
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
    });
  } finally {
    await connection.close();
  }
}
