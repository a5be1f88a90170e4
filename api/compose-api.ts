import type { Pool } from 'pg';
import type { Config } from '../runtime/config/read-config.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Staging } from '../runtime/storage/create-storage.ts';
import type { Composed } from '../services/compose.ts';
import { openMedia } from '../services/media/open-media.ts';
import { backgroundSync } from '../temporal/background-sync.ts';
import type { Temporal } from '../temporal/connect.ts';
import type { ApiDeps } from './deps.ts';
import { createDatabaseGate, readiness, systemStatus } from './health/routes.ts';
import { createAdmission } from './http/admission.ts';
import { createCallCounts, createRefusals } from './rate-limits/limiter.ts';

type Own = {
  readonly temporal: Temporal;
  readonly staging: Staging;
  /** Counts calls. The caller closes it. */
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
    status: () => systemStatus(orm, temporal, gate),
    admit: createAdmission(pool, config.rateLimits, allowances, gate.assertOpen),
    rateLimits: config.rateLimits,
    countCalls: createCallCounts(pool),
    refusedSecrets: createRefusals(pool, config.rateLimits.wrongKeys),
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
