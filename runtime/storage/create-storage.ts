import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { diskStorage } from './disk-storage.ts';
import type { MediaStorage } from './media-storage.ts';
import { s3Storage, type S3Settings } from './s3-storage.ts';

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

/** A local folder for files on their way in. */
export type Staging = {
  /** A name for a new file, which is not made yet. */
  newPath(): string;
  /**
   * Removes files that were last written to over an hour ago: a crash left them.
   *
   * @param onObstacle Gets each file that cannot be removed, and why. The others are.
   */
  sweep(onObstacle: (name: string, error: unknown) => void): Promise<void>;
};

/** No request takes as long. */
const staleMs = 60 * 60_000;

const ending = '.part';

/** The notes of earlier versions, whose files the sweep of the storage finds now. */
const oldNote = /^[0-9a-f\-]{36}\.note$/v;

/** @param folder Made when it is not there; several processes may share it. */
async function openStaging(folder: string): Promise<Staging> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return {
    newPath: () => path.join(folder, `${crypto.randomUUID()}${ending}`),
    async sweep(onObstacle) {
      for (const name of await readdir(folder)) {
        try {
          if ((name.endsWith(ending) || oldNote.test(name)) && (await isStale(folder, name))) {
            await rm(path.join(folder, name), { force: true });
          }
        } catch (error) {
          onObstacle(name, error);
        }
      }
    },
  };
}

async function isStale(folder: string, name: string): Promise<boolean> {
  const writtenMs = await stat(path.join(folder, name)).then(
    ({ mtimeMs }) => mtimeMs,
    () => Number.POSITIVE_INFINITY, // Another process was faster.
  );
  return writtenMs < Date.now() - staleMs;
}
