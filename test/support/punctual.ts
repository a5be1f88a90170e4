import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import { composeActivities, type ActivityDeps } from '../../activities/deps.ts';
import type { Activities } from '../../activities/index.ts';
import { createHttpServer } from '../../api/app.ts';
import type { ApiDeps } from '../../api/deps.ts';
import { createAdmission, type Admission } from '../../api/http/admission.ts';
import { createPool } from '../../api/http/authenticate.ts';
import { composeApi } from '../../api/run-api.ts';
import type { Orm } from '../../db/orm.ts';
import type { Brand } from '../../domain/brand.ts';
import type { Quotas } from '../../domain/quotas.ts';
import type { Network } from '../../networks/network.ts';
import { openNetworks } from '../../networks/registry.ts';
import {
  quotas as readQuotas,
  readConfig,
  type Config,
  type RateLimits,
} from '../../runtime/config/read-config.ts';
import type { EgressOptions } from '../../runtime/egress/create-egress.ts';
import { createInspector } from '../../runtime/media/inspector.ts';
import { createStaging } from '../../runtime/storage/create-storage.ts';
import { composeServices } from '../../services/compose.ts';
import type { MediaDeps } from '../../services/deps.ts';
import type { Temporal } from '../../temporal/connect.ts';
import { workflowStates } from '../../temporal/workflow-states.ts';
import { freshDatabase, patience } from './database.ts';
import { mediaDirOf } from './media-dirs.ts';
import { networksWith } from './networks.ts';
import { opened } from './opened-ports.ts';
import {
  freshNamespace,
  nativeConnection,
  sharedBundle,
  temporalClient,
  testLog,
  type Patience,
} from './temporal.ts';

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
  readonly callsOf: Admission['callsOf'];
};

export type ApiOptions = Patience & {
  /** Ports on 127.0.0.1 that egress may use. */
  readonly allowPorts?: readonly number[];
  /** A Temporal server instead of the shared one. */
  readonly temporalEnv?: Record<string, string>;
  /** Networks instead of the real ones. */
  readonly networks?: Readonly<Record<string, Network>>;
  /** A resolver and connections instead of the real ones, so that no request leaves. */
  readonly outside?: Required<Pick<EgressOptions, 'resolve' | 'connectTo'>>;
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
  readonly trustedProxies?: number;
  /** Concurrent requests; unlimited by default. */
  readonly mostPerKey?: number;
  /** How accounts of networks are connected, instead of the real ways. */
  readonly connecting?: Partial<ApiDeps['networks']>;
  readonly sandboxUrl?: string;
  /** Allowed return URLs of browsers. */
  readonly returnUrls?: readonly string[];
  /** The brand of the settings. */
  readonly brand?: Partial<Brand>;
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
  const { networks = await realNetworks(), media, connecting } = options;
  const { url: databaseUrl, orm } = await freshDatabase(t);
  const temporalEnv = options.temporalEnv ?? (await freshNamespace());
  const temporal = temporalClient(t, temporalEnv, options);
  const config = configFor(databaseUrl, options);
  const { secretKey } = config;
  const { mediaDir } = config.media;
  const outside = { ...options.outside, ...(options.ca ? { ca: options.ca } : {}) };
  const guarded = { orm, guardsNetworks: true, outside };
  const services = composeServices(config, networksWith(networks), guarded);
  t.teardown(services.closeEgress);
  const pool = createPool(databaseUrl, testLog, patience);
  t.teardown(() => pool.end());
  const now = options.now ?? (() => new Date());
  const staging = await createStaging(config.media);
  const api = composeApi(config, services, { temporal, staging, pool, log: testLog, now });
  t.teardown(api.close);
  const workflows = workflowStates(temporal.client);
  const { storage } = { ...api.deps.media, ...media };
  const own = { networks, storage, workflows, log: testLog, now };
  const deps = { ...composeActivities(config, services, own), oauth: {} };
  api.deps.gate.open(); // The test's database is already prepared.
  // The product's 30 s would fail when many tests upload files on a slow machine.
  const inspector = createInspector({ waitMs: 300_000, timeoutMs: 300_000 });
  t.teardown(() => inspector.close());
  const server = createHttpServer({
    ...api.deps,
    media: { ...api.deps.media, inspector, ...media },
    networks: { ...api.deps.networks, ...connecting },
  });
  const url = await listen(t, server, options.port);
  const { callsOf } = api.deps.admission;
  return { orm, databaseUrl, temporal, temporalEnv, secretKey, deps, url, mediaDir, callsOf };
}

/** The product's defaults, without limits of calls, with the settings that the test chooses. */
function configFor(databaseUrl: string, options: ApiOptions): Config {
  const { mostPerKey = 0, trustedProxies = 0, leastFree = 0 } = options;
  const config = readConfig({
    ...opened(options.allowPorts ?? []),
    DATABASE_URL: databaseUrl,
    SECRET_KEY: randomBytes(32).toString('hex'),
    PUNCTUAL_PUBLIC_URL: options.publicUrl ?? 'https://punctual.example',
    PUNCTUAL_MEDIA_DIR: mediaDirOf(databaseUrl),
  });
  return {
    ...config,
    media: { ...config.media, leastFree },
    requestsPerKey: mostPerKey,
    rateLimits: { ...plenty, ...options.rateLimits },
    quotas: { ...usualQuotas, ...options.quotas },
    sandboxUrl: options.sandboxUrl ?? null,
    returnUrls: (options.returnUrls ?? []).map((one) => new URL(one)),
    brand: { ...config.brand, ...options.brand },
    trustedProxies,
  };
}

/** @returns its address. */
async function listen(t: ExecutionContext, server: Server, port = 0): Promise<string> {
  server.listen(port, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.teardown(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port: taken } = server.address() as AddressInfo;
  return `http://127.0.0.1:${taken}`;
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

/** The admission checks of an API without limits. */
export function admission(t: ExecutionContext, databaseUrl: string): Admission {
  const pool = createPool(databaseUrl, testLog, patience);
  t.teardown(() => pool.end());
  return createAdmission(pool, plenty, { maxConcurrent: 0, quotas: usualQuotas });
}
