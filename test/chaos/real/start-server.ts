import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Connection } from '@temporalio/client';
import type { ExecutionContext } from 'ava';
import {
  answers,
  startPart,
  untilReady,
  type Part,
  type Stage,
} from '../../../scripts/parts/part.ts';
import { startPostgres } from '../../../scripts/parts/postgres.ts';
import { superuser } from '../../../scripts/parts/postgres-cluster.ts';
import { withoutTemporal } from '../../../scripts/parts/temporal.ts';
import { PlainError } from '../../../scripts/terminal.ts';
import { runCommand } from '../../../scripts/run-command.ts';
import { freePort } from '../../../scripts/ports.ts';
import { tcpGate } from '../../support/tcp-gate.ts';
import { killed, type TemporalServer } from '../parts/servers.ts';
import { buildServer, type ServerPrograms } from './build-server.ts';
import { lowPorts } from './low-ports.ts';

const readyWithinMs = 120_000;
const namespace = 'default';

/** Temporal's two databases, and the tables that it has in each. */
const databases = {
  temporal: 'postgresql/v12/temporal',
  temporal_visibility: 'postgresql/v12/visibility',
} as const;

type Account = { readonly port: string; readonly password: string };

/**
 * Temporal's production server: four services in one process, on a PostgreSQL of its own, so that an outage of the
 * product's database is none of Temporal's.
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
  const start = (): Promise<Part> => startServer(programs, { folder, env, ports }, stage);
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

/** @throws PlainError with what the tool said. */
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

/** Each of its services listens twice: for the others, and to see who else is there. */
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
): Promise<Part> {
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
  // Before there is such a namespace it says so; once there is, it says that there is no workflow of this name.
  const nowhere = `http://127.0.0.1:${ports.FRONTEND_HTTP_PORT}/api/v1/namespaces/${namespace}/workflows/none`;
  await untilReady(part, () => answers(nowhere, 404), readyWithinMs, stage.signal);
  return part;
}

/** It can be used a moment later than it is registered, on every service. */
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
