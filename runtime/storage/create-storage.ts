import path from 'node:path';
import { diskStorage } from './disk-storage.ts';
import type { MediaStorage } from './media-storage.ts';
import { s3Storage, type S3Settings } from './s3-storage.ts';
import { openStaging, type Staging } from './staging.ts';

export type StorageSettings = {
  /** Has the files, unless there is a bucket, and in any case those on their way in. */
  readonly mediaDir: string;
  readonly s3: S3Settings | null;
  /** How much of the folder's file system must be free for files to be taken in, in percent; 0 is not to look. */
  readonly leastFree: number;
};

/** Where media files lie: in the bucket when there is one, and in the folder otherwise. */
export const createStorage = ({
  mediaDir,
  s3,
}: Pick<StorageSettings, 'mediaDir' | 's3'>): MediaStorage =>
  s3 ? s3Storage(s3) : diskStorage(path.join(mediaDir, 'files'));

/** Beside the stored files, since `diskStorage` takes only what is on the same file system. */
export const createStaging = ({ mediaDir }: Pick<StorageSettings, 'mediaDir'>): Promise<Staging> =>
  openStaging(path.join(mediaDir, 'incoming'));
