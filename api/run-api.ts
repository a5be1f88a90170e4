import type { Pool } from 'pg';
import { createDatabaseClock } from '../db/database-clock.ts';
import { explainDatabaseFailure } from '../db/database-errors.ts';
import {
  checkStorage,
  assertSealedBy,
  installationId,
  OtherSecretKeyError,
} from '../db/installation.ts';
import { prepareSchema, OtherSchemaError } from '../db/migrate.ts';
import { createOrm } from '../db/orm.ts';
import { openNetworks, type Networks } from '../networks/registry.ts';
import { readConfig, type Config } from '../runtime/config/read-config.ts';
import { readSettingsOrExit } from '../runtime/config/settings.ts';
import { createLogger, describeError, type Logger } from '../runtime/logger.ts';
import { createInspector } from '../runtime/media/inspector.ts';
import {
  fatalAt,
  retryUntilReady,
  logUnhandledErrors,
  untilStopSignal,
} from '../runtime/process.ts';
import { createStaging, createStorage, type Staging } from '../runtime/storage/create-storage.ts';
import { diskGuard } from '../runtime/storage/disk-storage.ts';
import { WrongStorageError } from '../runtime/storage/media-storage.ts';
import { untilRefreshed } from '../services/channels/current-grant.ts';
import { composeServices, type Composed } from '../services/compose.ts';
import type { MediaDeps } from '../services/deps.ts';
import { keepSwept } from '../services/media/library.ts';
import { createReplayLimit } from '../services/webhooks/replay-deliveries.ts';
import { backgroundSync } from '../temporal/background-sync.ts';
import { connectTemporal, type Temporal } from '../temporal/connect.ts';
import { explainTemporalFailure } from '../temporal/explain-failure.ts';
import { assertNamespaceOf, OtherDatabaseError } from '../temporal/namespace.ts';
import { temporalOptions } from '../temporal/settings.ts';
import { serve } from './app.ts';
import type { ApiDeps } from './deps.ts';
import { createDatabaseGate, readiness, systemStatus } from './health/routes.ts';
import { createAdmission } from './http/admission.ts';
import { createPool } from './http/authenticate.ts';
import { createRefusals } from './rate-limits/limiter.ts';

const readers = { config: readConfig, networks: openNetworks, temporal: temporalOptions };

/** Runs an API process until a signal stops it. @param adapt Replaces dependencies, for the chaos suite. */
export async function runApi(adapt: (deps: ApiDeps) => ApiDeps = (deps) => deps): Promise<void> {
  const { config, networks, temporal: reach } = readSettingsOrExit(process.env, readers);
  const log = createLogger('api', config.logLevel);
  logUnhandledErrors(log);
  const stop = untilStopSignal();
  const { deps, clock, temporal, close } = open(
    config,
    networks,
    log,
    await stagingOrExit(config, log),
  );

  // Listens immediately. Calls that need the database answer 503 until its schema is current and the secret key is
  // verified.
  const stopServing = serve(adapt(deps), config);
  const fatal = fatalAt(
    log,
    OtherSchemaError,
    OtherSecretKeyError,
    OtherDatabaseError,
    WrongStorageError,
  );
  const { orm, sealer, gate } = deps;
  const prepare = async (): Promise<void> => {
    await prepareSchema(orm, config, (migration) => log.info({ migration }, 'migrating')).catch(
      fatal,
    );
    await assertSealedBy(orm, sealer.keyId).catch(fatal);
    await clock.measure();
    gate.open();
    void checkStorage(orm, deps.media.storage, { mayClaim: true, log, isFatal: fatal });
  };
  const migrated = retryUntilReady('the database', prepare, log, explainDatabaseFailure);
  // Closing the Temporal client during a call ends the process with an exception.
  let isStopping = false;
  let asked = Promise.resolve();
  const checkNamespace = async (): Promise<void> => {
    const installation = await installationId(orm);
    asked = isStopping ? asked : assertNamespaceOf(temporal.client, installation);
    await asked.catch(fatal);
  };
  const explain = explainTemporalFailure(reach);
  void migrated.then(() => retryUntilReady('Temporal', checkNamespace, log, explain));
  const stopMeasuring = clock.keep();
  await Promise.race([stop, migrated.then(() => log.info('the database is ready'))]);
  const sweeping = keepSwept(deps);
  await stop;
  isStopping = true;
  void sweeping.stop();
  stopMeasuring();
  log.info('stopping, open requests finish first');
  await stopServing();
  await untilRefreshed(orm); // The client may have hung up, but the new tokens must be stored.
  await asked.catch(() => undefined);
  await close();
  log.info('stopped');
}

function open(config: Config, networks: Networks, log: Logger, staging: Staging) {
  const orm = createOrm(config.databaseUrl, { poolSize: config.databasePoolSize });
  const services = composeServices(config, networks, { orm, guardsNetworks: false });
  const clock = createDatabaseClock(orm, log);
  const temporal = connectTemporal();
  const pool = createPool(config.databaseUrl, log);
  const own = { temporal, staging, pool, log, now: clock.now };
  const api = composeApi(config, services, own);
  const close = async (): Promise<void> => {
    await api.close();
    await services.closeEgress();
    await Promise.all([temporal.close(), pool.end(), orm.close()]);
  };
  return { deps: api.deps, clock, temporal, close };
}

type Own = {
  readonly temporal: Temporal;
  readonly staging: Staging;
  /** Finds API keys. The caller closes it. */
  readonly pool: Pool;
  readonly log: Logger;
  readonly now: () => Date;
};

/** The dependencies of the API, with a function that ends background work and closes the media library. */
export function composeApi(
  config: Config,
  { downloads, refuseDownload, closeEgress: _, ...services }: Composed,
  { temporal, staging, pool, log, now }: Own,
): { readonly deps: ApiDeps; readonly close: () => Promise<void> } {
  const { orm } = services;
  const { drain, ...sync } = backgroundSync(temporal.client, orm, log);
  const gate = createDatabaseGate();
  const allowances = { maxConcurrent: config.requestsPerKey, quotas: config.quotas };
  const media = openMedia(config, { staging, downloader: downloads, refuseUrl: refuseDownload });
  const deps: ApiDeps = {
    ...services,
    ...sync,
    gate,
    media,
    log,
    now,
    readiness: () => readiness(orm, gate),
    status: () => systemStatus(orm, temporal, gate, now),
    admission: createAdmission(pool, config.rateLimits, allowances, gate.assertOpen),
    rateLimits: config.rateLimits,
    refusedSecrets: createRefusals(config.rateLimits.wrongKeys),
    replays: createReplayLimit(),
    stopping: new AbortController(),
    trustedProxies: config.trustedProxies,
  };
  const close = async (): Promise<void> => {
    media.inspector.close();
    await drain();
    media.storage.close();
  };
  return { deps, close };
}

const openMedia = (
  { media, retentionDays }: Config,
  given: Pick<MediaDeps, 'staging' | 'downloader' | 'refuseUrl'>,
): MediaDeps => ({
  ...given,
  storage: createStorage(media),
  inspector: createInspector(),
  assertDiskSpace: diskGuard(media.mediaDir, media.leastFree),
  keepUnusedDays: retentionDays.unusedMedia,
  stallMs: 30_000,
});

async function stagingOrExit({ media }: Config, log: Logger): Promise<Staging> {
  try {
    return await createStaging(media);
  } catch (error) {
    log.fatal({ error: describeError(error) }, `cannot use the folder ${media.mediaDir}`);
    process.exit(1);
  }
}
