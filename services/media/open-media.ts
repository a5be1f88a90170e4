import type { RetentionDays } from '../../runtime/config/read-config.ts';
import { createInspector } from '../../runtime/media/inspector.ts';
import { createStorage, type StorageSettings } from '../../runtime/storage/create-storage.ts';
import { diskGuard } from '../../runtime/storage/disk-storage.ts';
import type { MediaDeps } from '../deps.ts';

type Settings = {
  readonly media: StorageSettings;
  readonly retentionDays: Pick<RetentionDays, 'unusedMedia'>;
};

/** Opens the media library. */
export const openMedia = (
  { media, retentionDays }: Settings,
  given: Pick<MediaDeps, 'staging' | 'downloader' | 'refuseUrl'>,
): MediaDeps => ({
  ...given,
  storage: createStorage(media),
  inspector: createInspector(),
  assertDiskSpace: diskGuard(media.mediaDir, media.leastFree),
  underWay: new Map(),
  keepUnusedDays: retentionDays.unusedMedia,
  stallMs: 30_000,
});
