import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { shareCompiledCode } from './compile-cache.ts';
import { withoutTemporal } from './parts/temporal.ts';
import { dataFolder, openDataFolder, type DataFolder } from './start/data-folder.ts';
import { ownDatabaseUrl } from './start/own-servers.ts';
import { isRunning } from './start/run-lock.ts';
import { opensAddresses } from './start/start-plan.ts';

// `npm run admin -- …`: runs the operator's commands on the database and Temporal of `npm start`, unless `DATABASE_URL`
// and `TEMPORAL_ADDRESS` name others.

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const args = process.argv.slice(2);
shareCompiledCode();
const here = await startedHere();
const cli = spawn(process.execPath, [path.join(root, 'cli', 'admin', 'main.ts'), ...args], {
  stdio: 'inherit',
  env: here ?? process.env,
});
const [code] = (await once(cli, 'exit')) as [number | null];
// A command on a history file needs no running server.
const needsParts = !args.some((arg) => arg.endsWith('.json'));
if (code === 1 && !here && !process.env['DATABASE_URL'] && needsParts) {
  const adopts = ['secret-key', 'storage'].includes(args[0] ?? '');
  const start = adopts ? `npm start -- --adopt-${args[0]}` : 'npm start';
  console.error(
    `Punctual is not running in this folder. Run "${start}" in another terminal first.`,
  );
}
process.exitCode = code ?? 1;

/** The environment, completed with the choices of `npm start`; undefined while it is not running. */
async function startedHere(): Promise<NodeJS.ProcessEnv | undefined> {
  const data = await openDataFolder(dataFolder(root, process.env));
  const ports = await data.readPorts();
  if (!(await isRunning(data.path('running.json')))) {
    return undefined;
  }

  return { ...temporalOf(ports), ...(await databaseOf(data, ports)) };
}

type Ports = Readonly<Record<string, number>>;

async function databaseOf(data: DataFolder, ports: Ports): Promise<NodeJS.ProcessEnv> {
  const {
    DATABASE_URL: database,
    PUNCTUAL_EGRESS_ALLOW_NETWORKS: allowed,
    SECRET_KEY: secretKey,
    PORT: apiPort,
  } = process.env;
  if (database || !ports['postgres']) {
    return {};
  }

  return {
    DATABASE_URL: await ownDatabaseUrl(data, ports['postgres']),
    // Never creates a key: a new one would look like the key of the data.
    SECRET_KEY: secretKey ?? (await data.keptSecret('secret-key', 32)),
    // Lets the operator connect channels of the sandbox too.
    PUNCTUAL_EGRESS_ALLOW_NETWORKS: [allowed, `127.0.0.1/32:${ports['sandbox']}`]
      .filter(Boolean)
      .join(','),
    PUNCTUAL_SANDBOX_URL: `http://127.0.0.1:${ports['sandbox']}`,
    ...(opensAddresses(process.env) ? {} : { PUNCTUAL_EGRESS_ALLOW_IN_PRODUCTION: 'yes' }),
    // Base of the links to files in events, unless PUNCTUAL_PUBLIC_URL is set.
    PORT: apiPort ?? String(ports['api'] ?? 3000),
  };
}

/** Removes settings for another Temporal server, which must not apply to the local one. */
function temporalOf(ports: Ports): NodeJS.ProcessEnv {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace = 'default' } = process.env;
  if (address || !ports['temporal']) {
    return process.env;
  }

  return {
    ...withoutTemporal(process.env),
    TEMPORAL_ADDRESS: `127.0.0.1:${ports['temporal']}`,
    TEMPORAL_NAMESPACE: namespace,
    PUNCTUAL_TEMPORAL_UI_URL: `http://127.0.0.1:${ports['temporalUi']}`,
  };
}
