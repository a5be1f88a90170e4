import { migrate } from '../db/migrate.ts';
import { createOrm } from '../db/orm.ts';
import { rulesOf } from '../networks/rules.ts';
import { readConfig } from '../runtime/config.ts';
import { describeError } from '../runtime/describe-error.ts';
import { parseAllowList } from '../runtime/egress/allow-list.ts';
import { checkDestination, checkUrl } from '../runtime/egress/check-url.ts';
import { createEgress } from '../runtime/egress/create-egress.ts';
import { createResolver } from '../runtime/egress/resolver.ts';
import { insist } from '../runtime/insist.ts';
import { createLogger } from '../runtime/logger.ts';
import { createSealer } from '../runtime/sealer.ts';
import { createStaging, createStorage } from '../runtime/storage/create-storage.ts';
import type { Staging } from '../runtime/storage/staging.ts';
import { untilStopped } from '../runtime/until-stopped.ts';
import { backgroundSync } from '../temporal/background-sync.ts';
import { connectTemporal } from '../temporal/connect.ts';
import { createApp } from './app.ts';
import { readiness } from './health/readiness.ts';
import { createAdmission } from './http/admission.ts';
import { answerBroken } from './http/answer-broken.ts';
import { keepSwept } from './media/sweep-media.ts';
import { createPool } from './rate-limits/create-pool.ts';

const config = readConfig();
const log = createLogger('api', config.logLevel);
const stop = untilStopped();
const orm = createOrm(config.databaseUrl, { poolSize: config.databasePoolSize });
const temporal = connectTemporal();
const sync = backgroundSync(temporal.client, orm, log);
const allow = parseAllowList(config.egressAllow);
const egress = createEgress({ allow });
const pool = createPool(config.databaseUrl, log);

const media = {
  storage: createStorage(config.media),
  staging: await stagingOrExit(),
  downloader: egress,
  refuseUrl: (url: string) => checkUrl(url, allow),
  stallMs: 30_000,
};

async function stagingOrExit(): Promise<Staging> {
  try {
    return await createStaging(config.media);
  } catch (error) {
    log.fatal({ error: describeError(error) }, `cannot use the folder ${config.media.mediaDir}`);
    process.exit(1);
  }
}

const app = createApp({
  orm,
  rules: rulesOf,
  publicUrl: config.publicUrl,
  media,
  log,
  sealer: createSealer(config.secretKey),
  now: () => new Date(),
  tellTemporal: sync.tell,
  tellDelivery: sync.tellDelivery,
  egress,
  refuseUrl: (url) => checkDestination(url, { allow, resolve: createResolver() }),
  readiness: () => readiness(orm, temporal),
  admit: createAdmission(pool, config.rateLimits),
  trustedProxies: config.trustedProxies,
});

// Serves at once; until the database has its schema, calls that need it answer 503.
const server = app.listen(config.port, config.host, () => {
  log.info({ address: `http://${config.host}:${config.port}` }, 'listening');
});
// Node's own five minutes are short for 200 MB over a slow line; silence is noticed sooner.
server.requestTimeout = 30 * 60_000;
server.on('clientError', answerBroken);
server.on('error', (error) => {
  log.fatal({ error: describeError(error) }, `cannot listen on ${config.host}:${config.port}`);
  process.exit(1);
});

const migrated = insist('the database', () => migrate(orm), log);
await Promise.race([stop, migrated.then(() => log.info('the database is ready'))]);
const stopSweeping = keepSwept({ orm, log, media });
await stop;
stopSweeping();
log.info('stopping: open requests are answered first');
setTimeout(() => server.closeAllConnections(), 10_000).unref();
await new Promise((resolve) => server.close(resolve));
await sync.drain();
media.storage.close();
await Promise.all([temporal.close(), egress.close(), pool.end(), orm.close()]);
log.info('stopped');
process.exit(0);
