import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import type { ApiDeps } from '../../api/deps.ts';
import { createApp, configure } from '../../api/app.ts';
import { createDatabaseGate, readiness, systemStatus } from '../../api/health/routes.ts';
import type { Activities } from '../../activities/index.ts';
import type { ActivityDeps } from '../../activities/deps.ts';
import type { Orm } from '../../db/orm.ts';
import type { Network } from '../../networks/network.ts';
import { rulesIn } from './networks.ts';
import { openNetworks } from '../../networks/registry.ts';
import type { Quotas } from '../../domain/quotas.ts';
import { quotas as readQuotas, type RateLimits } from '../../runtime/config/read-config.ts';
import { parseAllowList } from '../../runtime/egress/addresses.ts';
import { checkDestination, checkUrl, createResolver } from '../../runtime/egress/destination.ts';
import { createEgress, type EgressOptions } from '../../runtime/egress/create-egress.ts';
import { openMedia } from '../../services/media/open-media.ts';
import { createStaging } from '../../runtime/storage/create-storage.ts';
import { createSealer } from '../../runtime/secrets.ts';
import { backgroundSync } from '../../temporal/background-sync.ts';
import type { Temporal } from '../../temporal/connect.ts';
import { workflowStates } from '../../temporal/workflow-states.ts';
import { createRefusals, createPool } from '../../api/rate-limits/limiter.ts';
import { createAdmission, type Admission } from '../../api/http/admission.ts';
import type { ConnectionLimits } from '../../api/rate-limits/concurrency-limit.ts';
import { mediaDirOf } from './media-dirs.ts';
import { freshDatabase, patience } from './database.ts';
import {
  freshNamespace,
  nativeConnection,
  sharedBundle,
  temporalClient,
  testLog,
  type Patience,
} from './temporal.ts';
import type { MediaDeps } from '../../services/deps.ts';

/** All parts of one test's Punctual. It has its own database and Temporal namespace. */
export type Punctual = {
  readonly orm: Orm;
  readonly databaseUrl: string;
  readonly temporal: Temporal;
  /** `TEMPORAL_ADDRESS` and `TEMPORAL_NAMESPACE`. */
  readonly temporalEnv: Readonly<Record<string, string>>;
  readonly secretKey: string;
  readonly deps: ActivityDeps;
  /** The API's, without a trailing slash. */
  readonly url: string;
  /** The folder of its media files. */
  readonly mediaDir: string;
};

export type ApiOptions = Patience & {
  /** Ports on 127.0.0.1 that egress may use. */
  readonly allowPorts?: readonly number[];
  /** A Temporal server instead of the shared one. */
  readonly temporalEnv?: Record<string, string>;
  /** Networks instead of the real ones. */
  readonly networks?: Readonly<Record<string, Network>>;
  /** A resolver and connections instead of the real ones, so that no request leaves. */
  readonly outside?: Required<Pick<EgressOptions, 'resolve' | 'connect'>>;
  /** The only certificate authority that downloads trust, in PEM. */
  readonly ca?: string;
  /** Parts of the media library instead of those on disk. */
  readonly media?: Partial<MediaDeps>;
  /** Calls per minute. Without it, no call is refused for their number. */
  readonly rateLimits?: Partial<RateLimits>;
  /** Quotas of a workspace instead of the defaults. */
  readonly quotas?: Partial<Quotas>;
  /** The share of the disk that must be free for uploads, in percent. */
  readonly leastFree?: number;
  /** The time limit for a JSON body, in milliseconds. */
  readonly bodyMs?: number;
  readonly trustedProxies?: number;
  /** Concurrent requests and connections; unlimited by default. */
  readonly mostPerAddress?: number;
  readonly mostPerKey?: number;
  /** The minimum speed at which clients must read answers. */
  readonly readers?: ApiDeps['readers'];
  /** How accounts of networks are connected, instead of the real ways. */
  readonly connecting?: Partial<ApiDeps['networks']>;
  readonly sandboxUrl?: string;
  /** Allowed return URLs of browsers. */
  readonly returnUrls?: readonly string[];
  /** The service's address from outside. */
  readonly publicUrl?: string;
  /** On 127.0.0.1, for a public URL that names it; a free one by default. */
  readonly port?: number;
  /** The clock of the API and the workers; the machine's by default. */
  readonly now?: () => Date;
};

/** Loaded on demand: Bluesky's lexicon alone takes half a second of processor time. */
const realNetworks = async (): Promise<Readonly<Record<string, Network>>> =>
  openNetworks({}).load();

/** Starts an API on a real socket, without workers. */
export async function startApi(t: ExecutionContext, options: ApiOptions = {}): Promise<Punctual> {
  const { allowPorts = [], temporalEnv, networks = await realNetworks(), outside } = options;
  const { url: databaseUrl, orm } = await freshDatabase(t);
  const settings = temporalEnv ?? (await freshNamespace());
  const temporal = temporalClient(t, settings, options);
  const secretKey = randomBytes(32).toString('hex');
  const allow = parseAllowList(allowPorts.map((port) => `127.0.0.1/32:${port}`).join(','));
  const publicUrl = options.publicUrl ?? 'https://punctual.example';
  const ca = options.ca ? { ca: options.ca } : {};
  const egress = createEgress({ allow, ownUrl: publicUrl, ...outside, ...ca });
  t.teardown(() => egress.close());
  const resolveName = outside?.resolve ?? createResolver();
  const sealer = createSealer(secretKey);
  const now = options.now ?? (() => new Date());
  const mediaDir = mediaDirOf(databaseUrl);
  const media = await libraryIn(mediaDir, egress, (given) => checkUrl(given, { allow }), options);
  t.teardown(() => media.inspector.close());
  const { storage } = media;
  const workflows = workflowStates(temporal.client);
  const retentionDays = { deliveries: 30, finds: 30, metricDays: 730 };
  const base = { orm, sealer, publicUrl, log: testLog, now };
  const rules = rulesIn(networks);
  const deps = {
    ...base,
    networks,
    rules,
    oauth: {},
    sandboxUrl: null,
    workflows,
    egress,
    webhooks: egress,
    downloads: egress,
    storage,
    retentionDays,
  };
  const { mostPerAddress = 0, trustedProxies = 0 } = options;
  const sync = backgroundSync(temporal.client, orm, testLog);
  const gate = createDatabaseGate();
  gate.open(); // The test's database is already prepared.
  const app = createApp({
    gate,
    ...base,
    media,
    rules,
    ...sync,
    egress,
    networkEgress: egress,
    ...chosen(options),
    refuseUrl: (url) => checkDestination(url, { allow, resolve: resolveName, ownUrl: publicUrl }),
    readiness: () => readiness(orm, gate),
    status: () => systemStatus(orm, temporal, gate),
    ...counting(t, databaseUrl, options),
    mostPerAddress,
    trustedProxies,
  });
  t.teardown(() => sync.drain());
  const bounds = { most: mostPerAddress, trustedProxies, log: testLog };
  const url = await listen(t, app, bounds, options.port);
  return { orm, databaseUrl, temporal, temporalEnv: settings, secretKey, deps, url, mediaDir };
}

/** The options with their defaults. */
const chosen = (options: ApiOptions) => ({
  networks: { ...openNetworks({}), ...options.connecting },
  sandboxUrl: options.sandboxUrl ?? null,
  returnUrls: (options.returnUrls ?? []).map((one) => new URL(one)),
  quotas: { ...usualQuotas, ...options.quotas },
  readers: options.readers ?? { bytesPerSecond: 0, windowMs: 60_000 },
  bodyMs: options.bodyMs ?? 100_000,
});

/** @returns its address. */
async function listen(
  t: ExecutionContext,
  app: ReturnType<typeof createApp>,
  bounds: ConnectionLimits,
  port = 0,
): Promise<string> {
  const server = app.listen(port, '127.0.0.1');
  configure(server, bounds);
  await new Promise((resolve) => server.once('listening', resolve));
  t.teardown(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port: taken } = server.address() as AddressInfo;
  return `http://127.0.0.1:${taken}`;
}

async function libraryIn(
  mediaDir: string,
  downloader: MediaDeps['downloader'],
  refuseUrl: MediaDeps['refuseUrl'],
  { leastFree = 0, media }: ApiOptions,
): Promise<MediaDeps> {
  const stored = { mediaDir, s3: null, leastFree };
  const given = { staging: await createStaging(stored), downloader, refuseUrl };
  return { ...openMedia({ media: stored, retentionDays: { unusedMedia: 0 } }, given), ...media };
}

export type WorkerOptions = {
  /** Workflow code instead of this version's. */
  readonly bundle?: ReturnType<typeof sharedBundle>;
  readonly adapt?: (activities: Activities) => Activities;
};

/**
 * Starts workers and a relay in this process.
 *
 * @returns a function that stops them; the test's end does so too.
 */
export async function startWorkers(
  t: ExecutionContext,
  punctual: Punctual,
  options: WorkerOptions = {},
): Promise<() => Promise<void>> {
  const { orm, temporal, temporalEnv, deps } = punctual;
  // Loaded on demand, because most test files have no workers.
  const { createActivities } = await import('../../activities/index.ts');
  const { pollQueues } = await import('../../worker/create-workers.ts');
  const { startRelay } = await import('../../worker/relay.ts');
  const connection = await nativeConnection(t, temporalEnv['TEMPORAL_ADDRESS'] ?? '');
  const { bundle = sharedBundle(), adapt = (activities) => activities } = options;
  const { namespace } = temporal;
  const workers = await pollQueues(
    { connection, namespace, bundle: await bundle, shutdownGraceMs: 2000, log: testLog },
    adapt(createActivities(deps)),
    Object.keys(deps.networks),
  );
  const running = Promise.all(workers.map((worker) => worker.run()));
  const stopRelay = startRelay({ orm, client: temporal.client, log: testLog });
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= (async () => {
      for (const worker of workers) {
        worker.shutdown();
      }

      await Promise.all([running, stopRelay()]);
    })();
    return stopped;
  };
  t.teardown(stop);
  return stop;
}

/** Starts an API with workers. */
export async function startPunctual(
  t: ExecutionContext,
  options: ApiOptions = {},
): Promise<Punctual> {
  const punctual = await startApi(t, options);
  await startWorkers(t, punctual);
  return punctual;
}

/** High enough that no test is refused for the number of its calls. */
const plenty: RateLimits = { requests: 1_000_000, writes: 1_000_000, wrongKeys: 1_000_000 };

/** The default quotas. */
export const usualQuotas = readQuotas({}, []);

/** The admission checks of a test's API. @param limits Rate limits, if the test is about them. */
export function admission(
  t: ExecutionContext,
  databaseUrl: string,
  limits: Partial<RateLimits> = {},
  { mostPerKey = 0, quotas = {} }: Pick<ApiOptions, 'mostPerKey' | 'quotas'> = {},
): Admission {
  const pool = createPool(databaseUrl, testLog, patience);
  t.teardown(() => pool.end());
  const allowances = { maxConcurrent: mostPerKey, quotas: { ...usualQuotas, ...quotas } };
  return createAdmission(pool, { ...plenty, ...limits }, allowances);
}

/** The counters of clients' calls. */
function counting(t: ExecutionContext, databaseUrl: string, options: ApiOptions) {
  const pool = createPool(databaseUrl, testLog, patience);
  t.teardown(() => pool.end());
  const { wrongKeys = plenty.wrongKeys } = options.rateLimits ?? {};
  const admit = admission(t, databaseUrl, options.rateLimits, options);
  return { admit, refusedSecrets: createRefusals(pool, wrongKeys) };
}
