import { untilRefreshed } from '../accounts/current-grant.ts';
import { keepStorageChecked, OtherStorageError } from '../db/claimed-storage.ts';
import { createDatabaseClock, type DatabaseClock } from '../db/database-clock.ts';
import { explainDatabaseFailure } from '../db/connection-refusal.ts';
import { migrate, OtherSchemaError } from '../db/migrate.ts';
import {
  assertSealedBy,
  installationId,
  keepSealedBy,
  OtherSecretKeyError,
} from '../db/installation.ts';
import { createOrm } from '../db/orm.ts';
import { openNetworks, type Networks } from '../networks/registry.ts';
import { readConfig, type Config } from '../runtime/config/read-config.ts';
import { readSettingsOrExit } from '../runtime/config/read-settings.ts';
import { createLogger, describeError, type Logger } from '../runtime/logger.ts';
import { parseAllowList, parseNat64Prefixes } from '../runtime/egress/operator-lists.ts';
import { checkDestination, checkUrl } from '../runtime/egress/check-url.ts';
import { createEgress } from '../runtime/egress/create-egress.ts';
import { createResolver } from '../runtime/egress/find-addresses.ts';
import { fatalAt, retryUntilReady } from '../runtime/retry-until-ready.ts';
import { createInspector } from '../runtime/media/inspector.ts';
import { createSealer } from '../runtime/secrets.ts';
import { createStaging, createStorage, type Staging } from '../runtime/storage/create-storage.ts';
import { diskGuard } from '../runtime/storage/disk-room.ts';
import { logUnhandledErrors, untilStopSignal } from '../runtime/process.ts';
import { backgroundSync } from '../temporal/background-sync.ts';
import { connectTemporal, type Temporal } from '../temporal/connect.ts';
import { assertNamespaceOf, OtherDatabaseError } from '../temporal/namespace-owner.ts';
import { temporalOptions } from '../temporal/settings.ts';
import { explainTemporalFailure } from '../temporal/explain-failure.ts';
import type { ApiDeps, MediaDeps } from './deps.ts';
import { createDatabaseGate, readiness, systemStatus } from './health/readiness.ts';
import { createAdmission } from './http/admission.ts';
import { createRefusals } from './rate-limits/refusals.ts';
import { keepSwept } from './media/sweep-media.ts';
import { createPool } from './rate-limits/create-pool.ts';
import { serve } from './serve.ts';

const readers = { config: readConfig, networks: openNetworks, temporal: temporalOptions };

/**
 * Runs an API process, configured by its environment, until a signal stops it and open requests are answered.
 *
 * @param adapt Replaces dependencies; the chaos suite injects faults with it.
 */
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
    OtherStorageError,
  );
  const { orm, sealer, gate } = deps;
  const prepare = async (): Promise<void> => {
    await migrate(config.databaseUrl, (migration) => log.info({ migration }, 'migrating')).catch(
      fatal,
    );
    await assertSealedBy(orm, sealer.keyId).catch(fatal);
    await clock.measure();
    gate.open();
    keepStorageChecked(orm, deps.media.storage, { mayClaim: true, log, isFatal: fatal });
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
  const stopSweeping = keepSwept(deps);
  const stopSealingCheck = keepSealedBy(orm, sealer.keyId, fatal);
  await stop;
  isStopping = true;
  stopSweeping();
  stopSealingCheck();
  stopMeasuring();
  log.info('stopping, open requests finish first');
  await stopServing();
  await untilRefreshed(orm); // The client may have hung up, but the new tokens must be stored.
  await asked.catch(() => undefined);
  await close();
  log.info('stopped');
}

type Opened = {
  readonly deps: ApiDeps;
  readonly clock: DatabaseClock;
  readonly temporal: Temporal;
  readonly close: () => Promise<void>;
};

/** Opens the dependencies of the use cases, with a function that closes them. */
function open(config: Config, networks: Networks, log: Logger, staging: Staging): Opened {
  const orm = createOrm(config.databaseUrl, { poolSize: config.databasePoolSize });
  const clock = createDatabaseClock(orm, log);
  const temporal = connectTemporal();
  const sync = backgroundSync(temporal.client, orm, log);
  // Separate connection pools: an open connection to an address that one of them allows must not serve the other.
  const nat64 = parseNat64Prefixes(config.egressAllow.nat64);
  const forDownloads = { allow: parseAllowList(config.egressAllow.downloads), nat64 };
  const downloader = createEgress({ ...forDownloads, ownUrl: config.publicUrl });
  const forWebhooks = {
    allow: parseAllowList(config.egressAllow.webhooks),
    nat64,
    ownUrl: config.publicUrl,
  };
  const egress = createEgress(forWebhooks);
  const networkEgress = createEgress({ allow: parseAllowList(config.egressAllow.networks), nat64 });
  const pool = createPool(config.databaseUrl, log);
  const gate = createDatabaseGate();
  const allowances = { maxConcurrent: config.callerLimits.perKey, quotas: config.quotas };
  const media = openMedia(config, { staging, downloader, reach: forDownloads });
  const deps: ApiDeps = {
    gate,
    orm,
    rules: networks.rules,
    networks,
    publicUrl: config.publicUrl,
    sandboxUrl: config.sandboxUrl,
    returnUrls: config.returnUrls,
    quotas: config.quotas,
    media,
    log,
    sealer: createSealer(config.secretKey),
    now: clock.now,
    syncPost: sync.syncPost,
    syncDelivery: sync.syncDelivery,
    refreshPost: sync.refreshPost,
    egress,
    networkEgress,
    refuseUrl: (url) => checkDestination(url, { ...forWebhooks, resolve: createResolver() }),
    readiness: () => readiness(orm, gate),
    status: () => systemStatus(orm, temporal, gate),
    admit: createAdmission(pool, config.rateLimits, allowances, gate.assertOpen),
    refusedSecrets: createRefusals(pool, config.rateLimits.wrongKeys),
    readers: { bytesPerSecond: config.callerLimits.slowestReader, windowMs: 180_000 },
    mostPerAddress: config.callerLimits.perAddress,
    bodyMs: 30_000,
    trustedProxies: config.trustedProxies,
  };
  const close = async (): Promise<void> => {
    media.inspector.close();
    await sync.drain();
    media.storage.close();
    await Promise.all([egress.close(), downloader.close(), networkEgress.close()]);
    await Promise.all([temporal.close(), pool.end(), orm.close()]);
  };
  return { deps, clock, temporal, close };
}

type Library = Pick<MediaDeps, 'staging' | 'downloader'> & {
  /** Destinations that downloads may reach. */
  readonly reach: Parameters<typeof checkUrl>[1];
};

const openMedia = ({ media, retentionDays }: Config, { staging, downloader, reach }: Library) => ({
  storage: createStorage(media),
  staging,
  downloader,
  inspector: createInspector(),
  refuseUrl: (url: string) => checkUrl(url, reach),
  assertDiskSpace: diskGuard(media.mediaDir, media.leastFree),
  underWay: new Map<string, number>(),
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
