import type { Downloader } from '../../runtime/egress/egress.ts';
import type { Inspector } from '../../runtime/media/inspector.ts';
import type { MediaStorage } from '../../runtime/storage/media-storage.ts';
import type { Staging } from '../../runtime/storage/staging.ts';
import type { BytesUnderWay } from '../quotas/media-quota.ts';

/** What the media library works with. */
export type MediaDeps = {
  readonly storage: MediaStorage;
  readonly staging: Staging;
  readonly downloader: Downloader;
  readonly inspector: Inspector;
  /** Why a file may not be asked for at this address, as far as its text says; null when it may. */
  readonly refuseUrl: (url: string) => string | null;
  /** @throws AppError `unavailable` when so little of the disk is free that no files are taken. */
  readonly mustHaveDisk: () => Promise<void>;
  /** Of all requests of this process. */
  readonly underWay: BytesUnderWay;
  /** For how many days files are kept that no post has; 0 is for good. */
  readonly keepUnusedDays: number;
  /** How long whoever sends us a file may stand still, in milliseconds. */
  readonly stallMs: number;
};
