import type { AccountDeps } from '../accounts/deps.ts';
import type { Orm } from '../db/orm.ts';
import type { Quotas } from '../domain/quotas.ts';
import type { Rules } from '../networks/content-rules.ts';
import type { Networks } from '../networks/registry.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Sealer } from '../runtime/secrets.ts';
import type { Downloader, Egress } from '../runtime/egress/egress.ts';
import type { Inspector } from '../runtime/media/inspector.ts';
import type { MediaStorage } from '../runtime/storage/media-storage.ts';
import type { Staging } from '../runtime/storage/create-storage.ts';
import type { DeliveryToSync } from '../temporal/sync-delivery.ts';
import type { PostMetricsRequest } from '../temporal/start-refresh.ts';
import type { PostToSync } from '../temporal/sync-post.ts';
import type { DatabaseGate, ApiReadiness, SystemStatus } from './health/readiness.ts';
import type { Admission } from './http/admission.ts';
import type { ReaderLimits } from './http/slow-clients.ts';
import type { Refusals } from './rate-limits/refusals.ts';
import type { BytesUnderWay } from './quotas/media-quota.ts';

/** Dependencies of the API's use cases, built once in `api/run-api.ts`. */
export type ApiDeps = {
  /** Closed until the database is ready. */
  readonly gate: DatabaseGate;
  readonly orm: Orm;
  readonly sealer: Sealer;
  /** Content rules by platform. */
  readonly rules: Readonly<Record<string, Rules>>;
  /** Connecting and checking accounts, by platform. */
  readonly networks: Pick<Networks, 'oauth' | 'connectors' | 'checks' | 'profileUrls'>;
  /** Public base URL of the API, without a trailing slash. */
  readonly publicUrl: string;
  readonly media: MediaDeps;
  readonly log: Logger;
  readonly now: () => Date;
  /** Syncs a committed post with Temporal in the background. The relay repeats a failed sync. */
  readonly syncPost: (post: PostToSync) => void;
  /** The same for a replayed webhook delivery. */
  readonly syncDelivery: (delivery: DeliveryToSync) => void;
  /** Starts the refresh of a post's metrics in the background. After a failure the schedule refreshes them. */
  readonly refreshPost: (request: PostMetricsRequest) => void;
  /** HTTP client for networks. */
  readonly networkEgress: Egress;
  /** Base URL of the sandbox, without a trailing slash; null when there is none. */
  readonly sandboxUrl: string | null;
  /** Allowed return URLs after an account was connected. */
  readonly returnUrls: readonly URL[];
  /** Default quotas of a workspace. */
  readonly quotas: Quotas;
  /** HTTP client for webhook endpoints. */
  readonly egress: Egress;
  /** Returns why a webhook must not be sent to this address, as a sentence, or null. */
  readonly refuseUrl: (url: string) => Promise<string | null>;
  /** Whether this process can serve requests. */
  readonly readiness: () => Promise<ApiReadiness>;
  /** The state of the whole system. */
  readonly status: () => Promise<SystemStatus>;
  /** Authenticates the caller and applies the rate limits. */
  readonly admit: Admission;
  /** Counts refused secrets on the connect page. */
  readonly refusedSecrets: Refusals;
  /** Time limit for a JSON body, in milliseconds. */
  readonly bodyMs: number;
  /** Minimum speed at which a client must read its response. */
  readonly readers: ReaderLimits;
  /** Concurrent requests per client address; 0 is unlimited. */
  readonly mostPerAddress: number;
  /** Number of trusted proxies in front of the API, for the client's address. */
  readonly trustedProxies: number;
};

/** Dependencies of the media library. */
export type MediaDeps = {
  readonly storage: MediaStorage;
  readonly staging: Staging;
  readonly downloader: Downloader;
  readonly inspector: Inspector;
  /** Returns why this URL must not be downloaded, judged by its text alone, or null. */
  readonly refuseUrl: (url: string) => string | null;
  /** @throws AppError `unavailable` when the free disk space is below the limit. */
  readonly assertDiskSpace: () => Promise<void>;
  /** Bytes that all requests of this process are receiving. */
  readonly underWay: BytesUnderWay;
  /** How many days unused files are kept; 0 keeps them forever. */
  readonly keepUnusedDays: number;
  /** How long an upload may stall, in milliseconds. */
  readonly stallMs: number;
};

/** Selects the dependencies of the account use cases. */
export const accountDeps = (deps: ApiDeps): AccountDeps => ({
  orm: deps.orm,
  sealer: deps.sealer,
  oauth: deps.networks.oauth,
  egress: deps.networkEgress,
  publicUrl: deps.publicUrl,
  sandboxUrl: deps.sandboxUrl,
  log: deps.log,
  now: deps.now,
});
