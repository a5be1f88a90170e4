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
import type { DatabaseGate, Readiness, Status } from './health/readiness.ts';
import type { Admission } from './http/admission.ts';
import type { ReaderBounds } from './http/slow-clients.ts';
import type { Refusals } from './rate-limits/refusals.ts';
import type { BytesUnderWay } from './quotas/media-quota.ts';

/** What use cases work with, built once in `api/run-api.ts`. */
export type ApiDeps = {
  /** Closed until the database may be used. */
  readonly gate: DatabaseGate;
  readonly orm: Orm;
  readonly sealer: Sealer;
  /** What each network accepts, by platform. */
  readonly rules: Readonly<Record<string, Rules>>;
  /** How accounts of each network are connected and checked. */
  readonly networks: Pick<Networks, 'oauth' | 'connectors' | 'checks' | 'profileUrls'>;
  /** Where browsers reach the API, without a slash at the end. */
  readonly publicUrl: string;
  readonly media: MediaDeps;
  readonly log: Logger;
  readonly now: () => Date;
  /** Syncs a committed post with Temporal in the background; the relay repeats what fails. */
  readonly syncPost: (post: PostToSync) => void;
  /** The same for a webhook delivery that was replayed. */
  readonly syncDelivery: (delivery: DeliveryToSync) => void;
  /** Starts the refresh of a post's metrics in the background; the schedule comes to what fails. */
  readonly refreshPost: (request: PostMetricsRequest) => void;
  /** The way out to networks. */
  readonly networkEgress: Egress;
  /** Of the sandbox, without a slash at the end; null where there is none. */
  readonly sandboxUrl: string | null;
  /** Where browsers may be sent back to after an account was connected. */
  readonly returnUrls: readonly URL[];
  /** What a workspace may have, where nothing else was set for it. */
  readonly quotas: Quotas;
  /** The way out to webhook endpoints. */
  readonly egress: Egress;
  /** Why a webhook may not be sent to this address, in a sentence; null when it may. */
  readonly refuseUrl: (url: string) => Promise<string | null>;
  /** Whether this process can serve. */
  readonly readiness: () => Promise<Readiness>;
  /** The state of the whole system. */
  readonly status: () => Promise<Status>;
  /** Whose call it is, and whether it is one too many. */
  readonly admit: Admission;
  /** Counts refused secrets that people type on the page of a link. */
  readonly refusedSecrets: Refusals;
  /** How long a JSON body may take to come, in milliseconds. */
  readonly bodyMs: number;
  /** How slowly an answer may be taken. */
  readonly readers: ReaderBounds;
  /** How many requests of one client address may be under way at the same time; 0 is no bound. */
  readonly mostPerAddress: number;
  /** How many proxies before the API are trusted to name the client's address. */
  readonly trustedProxies: number;
};

/** What the media library works with. */
export type MediaDeps = {
  readonly storage: MediaStorage;
  readonly staging: Staging;
  readonly downloader: Downloader;
  readonly inspector: Inspector;
  /** Why a file may not be asked for at this address, as far as its text says; null when it may. */
  readonly refuseUrl: (url: string) => string | null;
  /** @throws AppError `unavailable` when so little of the disk is free that no files are taken. */
  readonly assertDiskSpace: () => Promise<void>;
  /** Of all requests of this process. */
  readonly underWay: BytesUnderWay;
  /** For how many days files are kept that no post has; 0 is for good. */
  readonly keepUnusedDays: number;
  /** How long the sender of a file may send nothing, in milliseconds. */
  readonly stallMs: number;
};

/** What the use cases of connected accounts work with. */
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
