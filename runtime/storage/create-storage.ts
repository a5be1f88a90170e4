import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { diskStorage } from './disk-storage.ts';
import type { MediaStorage } from './media-storage.ts';
import { s3Storage, type S3Settings } from './s3-storage.ts';

export type StorageSettings = {
  /** Folder of the files when there is no bucket, and always of incoming files. */
  readonly mediaDir: string;
  readonly s3: S3Settings | null;
  /** The free space that uploads need on the folder's file system, in percent; 0 disables the check. */
  readonly leastFree: number;
};

/** Uses the bucket when there is one, otherwise the folder. */
export const createStorage = ({
  mediaDir,
  s3,
}: Pick<StorageSettings, 'mediaDir' | 's3'>): MediaStorage =>
  s3 ? s3Storage(s3) : diskStorage(path.join(mediaDir, 'files'));

/** Next to the stored files, since `diskStorage` needs both on the same file system. */
export const createStaging = ({ mediaDir }: Pick<StorageSettings, 'mediaDir'>): Promise<Staging> =>
  openStaging(path.join(mediaDir, 'incoming'));

/** A local folder for incoming files. */
export type Staging = {
  /** The path of a new file, which does not exist yet. */
  newPath(): string;
  /** Removes files that a crash left behind. `onObstacle` gets each that cannot be removed; the sweep continues. */
  sweep(onObstacle: (name: string, error: unknown) => void): Promise<void>;
};

/** Longer than any request takes. */
const staleMs = 60 * 60_000;

const ending = '.part';

/** @param folder Created when it does not exist; several processes may share it. */
async function openStaging(folder: string): Promise<Staging> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return {
    newPath: () => path.join(folder, `${crypto.randomUUID()}${ending}`),
    async sweep(onObstacle) {
      for (const name of await readdir(folder)) {
        try {
          if (name.endsWith(ending) && (await isStale(folder, name))) {
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
    () => Number.POSITIVE_INFINITY, // Another process removed it.
  );
  return writtenMs < Date.now() - staleMs;
}
