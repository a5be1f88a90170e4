import { migrate } from '../db/migrate.ts';
import { createOrm } from '../db/orm.ts';
import { rulesOf } from '../networks/rules.ts';
import { readConfig } from '../runtime/config.ts';
import { describeError } from '../runtime/describe-error.ts';
import { parseAllowList } from '../runtime/egress/allow-list.ts';
import { checkDestination } from '../runtime/egress/check-url.ts';
import { createResolver } from '../runtime/egress/resolver.ts';
import { insist } from '../runtime/insist.ts';
import { createLogger } from '../runtime/logger.ts';
import { createSealer } from '../runtime/sealer.ts';
import { untilStopped } from '../runtime/until-stopped.ts';
import { backgroundSync } from '../temporal/background-sync.ts';
import { connectTemporal } from '../temporal/connect.ts';
import { createApp } from './app.ts';
import { readiness } from './health/readiness.ts';
import { createAdmission } from './http/admission.ts';
import { createPool } from './rate-limits/create-pool.ts';

const config = readConfig();
const log = createLogger('api', config.logLevel);
const stop = untilStopped();
const orm = createOrm(config.databaseUrl, { poolSize: config.databasePoolSize });
const temporal = connectTemporal();
const sync = backgroundSync(temporal.client, orm, log);
const allow = parseAllowList(config.egressAllow);
const pool = createPool(config.databaseUrl, log);

const app = createApp({
  orm,
  rules: rulesOf,
  publicUrl: config.publicUrl,
  log,
  sealer: createSealer(config.secretKey),
  now: () => new Date(),
  tellTemporal: sync.tell,
  refuseUrl: (url) => checkDestination(url, { allow, resolve: createResolver() }),
  readiness: () => readiness(orm, temporal),
  admit: createAdmission(pool, config.rateLimits),
  trustedProxies: config.trustedProxies,
});

// Serves at once; until the database has its schema, calls that need it answer 503.
const server = app.listen(config.port, config.host, () => {
  log.info({ address: `http://${config.host}:${config.port}` }, 'listening');
});
server.on('error', (error) => {
  log.fatal({ error: describeError(error) }, `cannot listen on ${config.host}:${config.port}`);
  process.exit(1);
});

const migrated = insist('the database', () => migrate(orm), log);
await Promise.race([stop, migrated.then(() => log.info('the database is ready'))]);
await stop;
log.info('stopping: open requests are answered first');
setTimeout(() => server.closeAllConnections(), 10_000).unref();
await new Promise((resolve) => server.close(resolve));
await sync.drain();
await Promise.all([temporal.close(), pool.end(), orm.close()]);
log.info('stopped');
process.exit(0);
