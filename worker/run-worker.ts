import { NativeConnection, Runtime, type NativeConnectionOptions } from '@temporalio/worker';
import { untilRefreshed } from '../accounts/current-grant.ts';
import type { ActivityDeps } from '../activities/deps.ts';
import { keepStorageChecked, OtherStorageError } from '../db/claimed-storage.ts';
import { createDatabaseClock, type DatabaseClock } from '../db/database-clock.ts';
import {
  assertSealedBy,
  installationId,
  keepSealedBy,
  OtherSecretKeyError,
} from '../db/installation.ts';
import { explainDatabaseFailure } from '../db/connection-refusal.ts';
import { migrate, OtherSchemaError } from '../db/migrate.ts';
import { createOrm, type Orm } from '../db/orm.ts';
import { openNetworks } from '../networks/registry.ts';
import { type Config, readConfig } from '../runtime/config/read-config.ts';
import { readSettingsOrExit } from '../runtime/config/read-settings.ts';
import { parseAllowList, parseNat64Prefixes } from '../runtime/egress/operator-lists.ts';
import { createEgress } from '../runtime/egress/create-egress.ts';
import { fatalAt, retryUntilReady, type Explain } from '../runtime/retry-until-ready.ts';
import { createLogger, type Logger } from '../runtime/logger.ts';
import { createSealer, type Sealer } from '../runtime/secrets.ts';
import type { MediaStorage } from '../runtime/storage/media-storage.ts';
import { createStorage } from '../runtime/storage/create-storage.ts';
import { logUnhandledErrors, untilStopSignal } from '../runtime/process.ts';
import { connectTemporal } from '../temporal/connect.ts';
import { keepSearchable } from '../temporal/ensure-search-attributes.ts';
import { temporalOptions } from '../temporal/settings.ts';
import { explainTemporalFailure } from '../temporal/explain-failure.ts';
import { workflowStates } from '../temporal/workflow-states.ts';
import { openBundle } from './bundle-workflows.ts';
import { createWorkersWhenReady } from './create-workers.ts';
import { metricsSchedule } from './metrics-schedule.ts';
import { keepScheduled, untilOwned } from './sweep-schedule.ts';
import {
  keepRestoreCounter,
  waitUntilDatabaseIsCurrent,
  type RestoreCounterDeps,
} from './restored-database.ts';
import { temporalLogger } from './temporal-logger.ts';
import { keepLimits } from './keep-limits.ts';
import { serveHealth } from './health-server.ts';
import { startRelay } from './relay.ts';

const readers = { config: readConfig, networks: openNetworks, temporal: temporalOptions };

/**
 * Runs a worker with the settings of the environment until a signal stops it and requests in flight have finished.
 *
 * @param adapt Replaces dependencies of the activities: the chaos suite injects faults there.
 */
export async function runWorker(
  adapt: (deps: ActivityDeps) => ActivityDeps = (deps) => deps,
): Promise<void> {
  const { config, networks: opened, temporal: reach } = readSettingsOrExit(process.env, readers);
  const { namespace } = reach;
  const log = createLogger('worker', config.logLevel);
  logUnhandledErrors(log);
  const stop = untilStopSignal();
  let polling = false;
  void stop.then(() => polling || process.exit(0)); // Nothing is running yet.
  Runtime.install({ logger: temporalLogger(log), shutdownSignals: [] });

  const orm = createOrm(config.databaseUrl, { poolSize: config.databasePoolSize });
  const closeHealth = serveHealth(config, orm, log, () => polling);
  const { closeEgress, ...waysOut } = openEgress(config);
  const storage = createStorage(config.media);
  const { publicUrl, sandboxUrl, retentionDays } = config;
  const sealer = createSealer(config.secretKey);
  const clock = createDatabaseClock(orm, log);
  const temporal = connectTemporal();
  const workflows = workflowStates(temporal.client);
  const { rules, oauth, limits, load } = opened;
  const networks = await load();
  const links = { orm, networks, rules, oauth, sandboxUrl, ...waysOut, storage, workflows };
  const deps = adapt({ ...links, publicUrl, retentionDays, log, sealer, now: clock.now });

  // The database and Temporal may start after this process, so it waits for them instead of exiting.
  const installation = await prepareDatabase({ config, orm, clock, sealer, log, storage });
  const stopMeasuring = clock.keep();
  const stopSealingCheck = keepSealedBy(orm, sealer.keyId, fatalAt(log, OtherSecretKeyError));
  const explain = explainTemporalFailure(reach);
  const first = await connectWhenReady(reach.connectionOptions, explain, log);
  const place = { orm, client: temporal.client, log };
  await waitForOwnNamespace(place, installation, explain);
  const stopSearchable = await keepSearchable(temporal, log);
  const bundle = await openBundle(config.workflowBundle);
  const settings = { connection: first, namespace, deps, bundle, shutdownGraceMs: 40_000 };
  const { connection, workers } = await createWorkersWhenReady(settings, log);
  const running = Promise.all(workers.map((worker) => worker.run()));
  polling = true;
  const besides = [
    startRelay(place),
    keepRestoreCounter(place),
    keepLimits({ ...deps, limits }),
    keepScheduled(temporal.client, installation, log, [metricsSchedule(Object.keys(networks))]),
    stopSearchable,
  ];
  log.info({ namespace, queues: workers.map((worker) => worker.options.taskQueue) }, 'polling');

  await Promise.race([stop, running]);
  log.info('stopping after the sends in progress');
  polling = false;
  workers.filter((each) => each.getState() === 'RUNNING').forEach((each) => each.shutdown());

  await Promise.all([running, ...besides.map((end) => end())]);
  await untilRefreshed(orm);
  [stopMeasuring, stopSealingCheck, storage.close, closeHealth].forEach((end) => end());
  await Promise.all([closeEgress(), temporal.close(), connection.close(), orm.close()]);
  log.info('stopped');
}

const connectWhenReady = (
  options: NativeConnectionOptions,
  explain: Explain,
  log: Logger,
): Promise<NativeConnection> =>
  retryUntilReady('Temporal', () => NativeConnection.connect(options), log, explain);

/**
 * Waits, before the worker polls, until the namespace belongs to the database and the database is not older than its
 * workflows.
 */
async function waitForOwnNamespace(
  place: RestoreCounterDeps,
  installation: string,
  explain: Explain,
): Promise<void> {
  await untilOwned(place.client, installation, place.log, explain);
  await waitUntilDatabaseIsCurrent(place, explain);
}

/**
 * Separate connections for each kind: an address allowed for one must not be reachable through another's open
 * connection.
 */
function openEgress({ egressAllow, publicUrl: ownUrl }: Config) {
  const nat64 = parseNat64Prefixes(egressAllow.nat64);
  const openTo = (list: string) => createEgress({ allow: parseAllowList(list), nat64, ownUrl });
  const egress = openTo(egressAllow.networks);
  const webhooks = openTo(egressAllow.webhooks);
  const downloads = openTo(egressAllow.downloads);
  const all = [egress, webhooks, downloads];
  const closeEgress = () => Promise.all(all.map((each) => each.close()));
  return { egress, webhooks, downloads, closeEgress };
}

type Database = {
  readonly config: Config;
  readonly orm: Orm;
  readonly clock: DatabaseClock;
  /** Sealer with the key of the stored secrets. */
  readonly sealer: Sealer;
  readonly log: Logger;
  readonly storage: MediaStorage;
};

/** Waits until the database is available and migrated. @returns the database's id. */
async function prepareDatabase({
  config,
  orm,
  clock,
  sealer,
  log,
  storage,
}: Database): Promise<string> {
  const fatal = fatalAt(log, OtherSchemaError, OtherSecretKeyError, OtherStorageError);
  const prepare = async (): Promise<string> => {
    await migrate(config.databaseUrl, (migration) => log.info({ migration }, 'migrating')).catch(
      fatal,
    );
    await assertSealedBy(orm, sealer.keyId).catch(fatal);
    await clock.measure();
    return installationId(orm);
  };
  const installation = await retryUntilReady('the database', prepare, log, explainDatabaseFailure);
  keepStorageChecked(orm, storage, { mayClaim: false, log, isFatal: fatal });
  return installation;
}
