import { startApp } from '../parts/app.ts';
import { respondsAt, bodyAt, untilReady, type ProcessPart, type Stage } from '../parts/part.ts';
import { withoutTemporal } from '../parts/temporal.ts';
import { runCommand } from '../run-command.ts';
import { banner } from './banner.ts';
import { startOwnPostgres, startOwnTemporal } from './own-servers.ts';
import { prepareDatabase } from './prepare-database.ts';
import { chooseSecretKey } from './secret-key.ts';
import { ranks, type StartPlan } from './start-plan.ts';

/** Time until an app answers, in milliseconds. The worker bundles its workflows first. */
const readyWithinMs = 120_000;

/** Time until a warning names a Temporal server of the user that does not answer, in milliseconds. */
const awayForMs = 5000;

/** Starts everything in order. @returns the message to show when everything is ready. */
export async function startAll(plan: StartPlan, stage: Stage): Promise<string> {
  const startedMs = Date.now();
  let isReady = false;
  const { root, settings, ports, data } = plan;
  const sandboxUrl = `http://127.0.0.1:${ports.sandbox}`;
  const apiUrl = `http://${reachable(settings.host)}:${ports.api}`;
  const app = (name: string, env: NodeJS.ProcessEnv, rank: number, graceMs: number) =>
    startApp(
      { name, main: `${name}/main.ts`, env, logFile: data.logFile(name), rank, graceMs },
      root,
      stage,
      { hasStarted: () => isReady },
    );

  const sandbox = await app('sandbox', sandboxEnvironment(plan), ranks.sandbox, 5000);
  const prepared = async () => {
    const [databaseUrl] = await Promise.all([
      startOwnPostgres(plan, stage),
      untilReady(sandbox, () => respondsAt(`${sandboxUrl}/`), readyWithinMs, stage.signal),
    ]);
    const key = await chooseSecretKey(data, settings.secretKey);
    const own = { ...ownEnvironment(plan, sandboxUrl, apiUrl), DATABASE_URL: databaseUrl };
    const env = { ...own, SECRET_KEY: key.value };
    const ofCommands = { ...withoutTemporal(plan.env), ...env };
    return { env, demo: await prepareDatabase(plan, key, sandboxUrl, ofCommands, stage) };
  };
  const [{ env: own, demo }, temporal] = await Promise.all([
    prepared(),
    startOwnTemporal(plan, stage),
  ]);
  const env = { ...temporal.env, ...own };
  await app('worker', env, ranks.work, 60_000);
  const apiEnv = { ...env, PORT: String(ports.api), HOST: settings.host };
  const api = await app('api', apiEnv, ranks.work, 20_000);
  await untilAllReady(api, apiUrl, plan, stage);
  isReady = true;
  await storeProfile(plan, apiUrl, demo.apiKey, stage);
  const addresses = { api: apiUrl, sandbox: sandboxUrl, temporalUi: temporal.uiUrl };
  return banner(addresses, demo, (Date.now() - startedMs) / 1000, data.path('logs'));
}

/**
 * Waits for the API, which waits for the database, Temporal and a worker. Only a Temporal server of the user may be
 * unavailable for long. A warning names it, because the start would otherwise wait silently until its timeout.
 */
async function untilAllReady(
  api: ProcessPart,
  apiUrl: string,
  { settings: { temporalAddress } }: StartPlan,
  stage: Stage,
): Promise<void> {
  const namedAtMs = performance.now() + awayForMs;
  let isNamed = temporalAddress === undefined;
  const isReady = async (): Promise<boolean> => {
    if (await respondsAt(`${apiUrl}/status`)) {
      return true;
    }

    if (!isNamed && performance.now() > namedAtMs && !(await reachesTemporal(apiUrl))) {
      isNamed = true;
      stage.say(
        `Temporal at ${temporalAddress} (TEMPORAL_ADDRESS) does not answer. Retrying for up to ${readyWithinMs / 60_000} minutes.`,
      );
    }

    return false;
  };
  await untilReady(api, isReady, readyWithinMs, stage.signal);
}

/** False when the API reports that Temporal does not answer. True while the API itself does not answer. */
async function reachesTemporal(apiUrl: string): Promise<boolean> {
  try {
    return (await bodyAt(`${apiUrl}/status`)).includes('"temporal":"ok"');
  } catch {
    return true;
  }
}

/** The settings that `npm start` provides to all apps, except for the database and Temporal. */
function ownEnvironment(
  { settings, ports, data, env }: StartPlan,
  sandboxUrl: string,
  apiUrl: string,
): NodeJS.ProcessEnv {
  return {
    PUNCTUAL_EGRESS_ALLOW_NETWORKS: [settings.allowNetworks, `127.0.0.1/32:${ports.sandbox}`]
      .filter(Boolean)
      .join(','),
    // We open the address of the sandbox ourselves. With addresses of the user, the confirmation must be theirs.
    ...(settings.opensAddresses ? {} : { PUNCTUAL_EGRESS_ALLOW_IN_PRODUCTION: 'yes' }),
    PUNCTUAL_SANDBOX_URL: sandboxUrl,
    PUNCTUAL_MEDIA_DIR: settings.mediaDir ?? data.path('media'),
    // The default port may be in use, and `npm start` asks the API.
    PUNCTUAL_WORKER_HEALTH_PORT: env['PUNCTUAL_WORKER_HEALTH_PORT'] ?? '0',
    // The worker cannot derive it from a port of its own.
    PUNCTUAL_PUBLIC_URL: settings.publicUrl ?? apiUrl,
  };
}

/** The sandbox acts as third-party servers, so it gets none of our secrets. */
function sandboxEnvironment({ env, ports, data }: StartPlan): NodeJS.ProcessEnv {
  return {
    PATH: env['PATH'],
    HOST: '127.0.0.1',
    PORT: String(ports.sandbox),
    PUNCTUAL_SANDBOX_DATA: data.path('sandbox.json'),
  };
}

/** Stores the key of the demo as the profile `local` of the command. A home that cannot be written to stops nothing. */
async function storeProfile(
  { root, env }: StartPlan,
  apiUrl: string,
  apiKey: string,
  { say, signal }: Stage,
): Promise<void> {
  const words = ['auth', 'login', '--profile', 'local', '--keep-current', '--url', apiUrl];
  const options = { cwd: root, env, signal, input: apiKey };
  const { ok, stderr } = await runCommand(process.execPath, ['cli/main.ts', ...words], options);
  if (!ok) {
    say(`The command's profile "local" was not stored: ${stderr.trim()}`);
  }
}

/** The host at which `host` is reachable from this machine. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') {
    return '127.0.0.1';
  }

  return host.includes(':') ? `[${host}]` : host;
}
