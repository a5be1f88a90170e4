import type { Orm } from '../db/orm.ts';
import type { Brand } from '../domain/brand.ts';
import type { Quotas } from '../domain/quotas.ts';
import type { Rules } from '../networks/content-rules.ts';
import type { Networks } from '../networks/registry.ts';
import type { Downloader, Egress } from '../runtime/egress/egress.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Inspector } from '../runtime/media/inspector.ts';
import type { Sealer } from '../runtime/secrets.ts';
import type { Staging } from '../runtime/storage/create-storage.ts';
import type { MediaStorage } from '../runtime/storage/media-storage.ts';

/** Dependencies of the use cases. Each names the part that it uses. */
export type ServiceDeps = {
  readonly orm: Orm;
  readonly now: () => Date;
  readonly log: Logger;
  readonly sealer: Sealer;
  readonly rules: Readonly<Record<string, Rules>>;
  /** Connecting and checking accounts, by platform. */
  readonly networks: Pick<
    Networks,
    'oauth' | 'connectors' | 'checks' | 'profileUrls' | 'postPages'
  >;
  readonly networkEgress: Egress;
  readonly egress: Egress;
  /** Returns why a webhook must not be sent to this address, as a sentence, or null. */
  readonly refuseUrl: (url: string) => Promise<string | null>;
  readonly media: MediaDeps;
  /** Public base URL of the API, without a trailing slash. */
  readonly publicUrl: string;
  /** Base URL of the sandbox, without a trailing slash; null when there is none. */
  readonly sandboxUrl: string | null;
  /** Allowed return URLs after an account was connected. */
  readonly returnUrls: readonly URL[];
  /** The brand of pages for workspaces without their own. */
  readonly brand: Brand;
  readonly quotas: Quotas;
};

export type MediaDeps = {
  readonly storage: MediaStorage;
  readonly staging: Staging;
  readonly downloader: Downloader;
  readonly inspector: Inspector;
  /** Returns why this URL must not be downloaded, judged by its text alone, or null. */
  readonly refuseUrl: (url: string) => string | null;
  /** @throws AppError `unavailable` when the free disk space is below the limit. */
  readonly assertDiskSpace: () => Promise<void>;
  /** How many days unused files are kept; 0 keeps them forever. */
  readonly keepUnusedDays: number;
  /** After so many milliseconds without progress, a client that sends a file or reads an answer is disconnected. */
  readonly stallMs: number;
};
