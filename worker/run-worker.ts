import type { Client } from '@temporalio/client';
import { NativeConnection, Runtime, type NativeConnectionOptions } from '@temporalio/worker';
import Koa from 'koa';
import { setTimeout as sleep } from 'node:timers/promises';
import { composeActivities, type ActivityDeps } from '../activities/deps.ts';
import { createDatabaseClock, type DatabaseClock } from '../db/database-clock.ts';
import { explainDatabaseFailure, isDatabaseReachable } from '../db/database-errors.ts';
import {
  OtherSecretKeyError,
  assertSealedBy,
  checkStorage,
  installationId,
} from '../db/installation.ts';
import { OtherSchemaError, prepareSchema } from '../db/migrate.ts';
import { createOrm, type Orm } from '../db/orm.ts';
import {
  awaitsRestoreFinish,
  incrementRestoreCounter,
  markDatabaseBehind,
  readRestoreCounter,
  restoredDatabase,
} from '../db/restore-counter.ts';
import { openNetworks } from '../networks/registry.ts';
import { readConfig, type Config } from '../runtime/config/read-config.ts';
import { readSettingsOrExit } from '../runtime/config/settings.ts';
import { createLogger, describeError, type Logger } from '../runtime/logger.ts';
import {
  fatalAt,
  logUnhandledErrors,
  retryUntilReady,
  type Explain,
  untilStopSignal,
} from '../runtime/process.ts';
import { createStorage } from '../runtime/storage/create-storage.ts';
import { WrongStorageError } from '../runtime/storage/media-storage.ts';
import { repeat } from '../runtime/timers.ts';
import { version } from '../runtime/version.ts';
import { untilRefreshed } from '../services/channels/current-grant.ts';
import { composeServices } from '../services/compose.ts';
import { connectTemporal, type Temporal, underDeadline } from '../temporal/connect.ts';
import { keepSearchable } from '../temporal/ensure-search-attributes.ts';
import { explainTemporalFailure } from '../temporal/explain-failure.ts';
import { loadStoredCounter, storeCounter } from '../temporal/namespace.ts';
import { temporalOptions } from '../temporal/settings.ts';
import { lastPolls, workflowStates } from '../temporal/workflow-states.ts';
import { openBundle } from './bundle-workflows.ts';
import { createWorkersWhenReady, temporalLogger } from './create-workers.ts';
import { keepLimits } from './keep-limits.ts';
import { startRelay } from './relay.ts';
import { keepScheduled, metricsSchedule, untilOwned } from './schedules.ts';

const readers = { config: readConfig, networks: openNetworks, temporal: temporalOptions };

/** Without `forward`, Temporal's core writes lines of its own, which are not JSON. */
const telemetryOptions = { logging: { forward: {} } };

/** Runs a worker until a signal stops it. @param adapt The chaos suite injects faults there. */
export async function runWorker(
  adapt: (deps: ActivityDeps) => ActivityDeps = (deps) => deps,
): Promise<void> {
  const { config, networks: opened, temporal: reach } = readSettingsOrExit(process.env, readers);
  const { namespace } = reach;
  const log = createLogger('worker', config.logLevel);
  log.info({ version }, 'starting');
  logUnhandledErrors(log);
  const stop = untilStopSignal();
  let polling = false;
  void stop.then(() => polling || process.exit(0)); // Nothing is running yet.
  Runtime.install({ logger: temporalLogger(log), telemetryOptions, shutdownSignals: [] });

  const orm = createOrm(config.databaseUrl, { poolSize: config.databasePoolSize });
  const services = composeServices(config, opened, { orm, guardsNetworks: true });
  const { sealer } = services;
  const temporal = connectTemporal();
  const closeHealth = serveHealth(config, { orm, temporal }, log, () => polling);
  const storage = createStorage(config.media);
  const clock = createDatabaseClock(orm, log);
  const workflows = workflowStates(temporal.client);
  const networks = await opened.load();
  const own = { networks, storage, workflows, log, now: clock.now, stopping: abortedAfter(stop) };
  const deps = adapt(composeActivities(config, services, own));

  // The database and Temporal may start after this process, so it waits for them instead of exiting.
  const installation = await prepareDatabase({ config, orm, clock, sealer, log, storage });
  const stopMeasuring = clock.keep();
  const explain = explainTemporalFailure(reach);
  const first = await connectWhenReady(temporal.client, reach.connectionOptions, explain, log);
  const place = { orm, client: temporal.client, log };
  await untilOwned(temporal.client, installation, log, explain);
  await waitUntilDatabaseIsCurrent(place, explain);
  const stopSearchable = await keepSearchable(temporal, log);
  const bundle = await openBundle(config.workflowBundle);
  const settings = { connection: first, namespace, deps, bundle, shutdownGraceMs: 40_000 };
  const { connection, workers } = await createWorkersWhenReady(settings);
  const running = Promise.all(workers.map((worker) => worker.run()));
  polling = true;
  const besides = [
    startRelay(place),
    keepRestoreCounter(place),
    keepLimits({ ...deps, limits: opened.limits }),
    keepScheduled(temporal.client, installation, log, [metricsSchedule(Object.keys(networks))]),
    stopSearchable,
  ];
  log.info({ namespace, queues: workers.map((worker) => worker.options.taskQueue) }, 'polling');

  await Promise.race([stop, running]);
  log.info('stopping after the sends in progress');
  polling = false;
  workers.filter((each) => each.getState() === 'RUNNING').forEach((each) => each.shutdown());

  await Promise.all([running.catch(exitWith(log)), ...besides.map(end)]);
  await untilRefreshed(orm);
  [stopMeasuring, storage.close, closeHealth].forEach(end);
  await Promise.all([services.closeEgress(), temporal.close(), connection.close(), orm.close()]);
  log.info('stopped');
}

function abortedAfter(event: Promise<unknown>): AbortSignal {
  const controller = new AbortController();
  void event.then(() => controller.abort());
  return controller.signal;
}

const end = (each: () => unknown): unknown => each();

/** Ends the process after the force time, when the native workers still hold what would be closed. */
const exitWith =
  (log: Logger) =>
  (error: unknown): never => {
    log.warn({ error: describeError(error) }, 'stopped before the sends in progress had ended');
    process.exit(0);
  };

/** The client asks first: the native connection has no deadline, and its errors have no codes. */
function connectWhenReady(
  client: Client,
  options: NativeConnectionOptions,
  explain: Explain,
  log: Logger,
): Promise<NativeConnection> {
  const connect = async () => {
    await underDeadline(client, () => client.workflowService.getSystemInfo({}));
    return NativeConnection.connect(options);
  };
  return retryUntilReady('Temporal', connect, log, explain);
}

type Database = Pick<ActivityDeps, 'orm' | 'sealer' | 'log' | 'storage'> & {
  readonly config: Config;
  readonly clock: DatabaseClock;
};

/** Waits until the database is available and migrated. @returns the database's id. */
async function prepareDatabase(opened: Database): Promise<string> {
  const { config, orm, clock, sealer, log, storage } = opened;
  const fatal = fatalAt(log, OtherSchemaError, OtherSecretKeyError, WrongStorageError);
  const prepare = async (): Promise<string> => {
    await prepareSchema(orm, config, (migration) => log.info({ migration }, 'migrating')).catch(
      fatal,
    );
    await assertSealedBy(orm, sealer.keyId).catch(fatal);
    await clock.measure();
    return installationId(orm);
  };
  const installation = await retryUntilReady('the database', prepare, log, explainDatabaseFailure);
  void checkStorage(orm, storage, { mayClaim: false, log, isFatal: fatal });
  return installation;
}

/** Serves `/livez` and `/readyz`, or neither if the port is taken. @returns a function that stops the server. */
function serveHealth(
  { host, workerHealthPort: port }: Config,
  { orm, temporal }: { readonly orm: Orm; readonly temporal: Temporal },
  log: Logger,
  isPolling: () => boolean,
): () => void {
  const app = new Koa();
  app.use(async (ctx) => {
    if (ctx.path === '/livez') {
      ctx.body = { ok: true };
    } else if (ctx.path === '/readyz') {
      const polls = lastPolls(temporal, 2000).then((answer) => answer !== null);
      const found = await Promise.all([isDatabaseReachable(orm), polls]);
      const [postgresql, connected] = found.map((answers) => (answers ? 'ok' : 'does not answer'));
      const isRestored = !isPolling() && postgresql === 'ok' && (await awaitsRestoreFinish(orm));
      const polling = isPolling() ? 'ok' : isRestored ? restoredDatabase : 'not yet, or no longer';
      const ready = [postgresql, connected, polling].every((part) => part === 'ok');
      ctx.status = ready ? 200 : 503;
      ctx.body = { ready, postgresql, temporal: connected, polling };
    }
  });
  const server = port === 0 ? null : app.listen(port, host);
  server?.on('error', (error) => {
    log.warn(
      `cannot listen on ${host}:${port} (${error.message}): this worker has no /livez and /readyz. PUNCTUAL_WORKER_HEALTH_PORT sets another port, or 0 for none.`,
    );
  });
  return () => {
    server?.close();
    server?.closeAllConnections();
  };
}

type RestoreCounterDeps = {
  readonly orm: Orm;
  readonly client: Client;
  readonly log: Logger;
};

const pollIntervalMs = 2000;

/** Waits, before the worker polls, while the database is older than Temporal's count. */
async function waitUntilDatabaseIsCurrent(
  place: RestoreCounterDeps,
  explain: Explain,
): Promise<void> {
  const { log } = place;
  for (let isLogged = false; ; isLogged = true) {
    const checkBehind = () => isBehind(place);
    if (!(await retryUntilReady('Temporal and the database', checkBehind, log, explain))) {
      return;
    }

    if (!isLogged) {
      log.error(restoredDatabase);
    }

    await sleep(pollIntervalMs);
  }
}

/**
 * Counts each minute, in the database and then in Temporal. Ends the process if the database is older than Temporal's
 * count, because posts published since would be published twice. @returns a function that stops it.
 */
export function keepRestoreCounter({ orm, client, log }: RestoreCounterDeps): () => Promise<void> {
  return repeat(async () => {
    await incrementIfDue({ orm, client, log }).catch((error: unknown) =>
      log.debug({ error: describeError(error) }, 'could not update the restore counter'),
    );
    return pollIntervalMs;
  }).stop;
}

/** A restored database is due at once, because its last count is old. */
async function incrementIfDue(place: RestoreCounterDeps): Promise<void> {
  const { orm, client, log } = place;
  const { installation, count, isDue, behindSince } = await readRestoreCounter(orm);
  if (behindSince !== null || (isDue && (await isBehind(place)))) {
    log.fatal(restoredDatabase);
    process.exit(1);
  }

  const next = isDue ? await incrementRestoreCounter(orm, count) : null;
  if (next !== null) {
    await storeCounter(client, installation, next);
  }
}

/** Reads Temporal before the database. Workers increment the database first, so it is never behind while they run. */
async function isBehind({ orm, client }: RestoreCounterDeps): Promise<boolean> {
  const { installation } = await readRestoreCounter(orm);
  await markDatabaseBehind(orm, (await loadStoredCounter(client, installation)) ?? 0);
  return (await readRestoreCounter(orm)).behindSince !== null;
}
