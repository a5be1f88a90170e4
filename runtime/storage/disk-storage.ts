import { mkdir, open, rename, rm, stat, statfs, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../../domain/errors.ts';
import type { MediaStorage } from './media-storage.ts';

/**
 * Stores files in a folder of this machine, or one that machines share. Moves a file, which must be on the same file
 * system, to its name after all of it is on the disk, so no name ever leads to half a file.
 */
export function diskStorage(folder: string): MediaStorage {
  return {
    async put(key, filePath) {
      const target = fileOf(folder, key);
      try {
        await makeFolder(path.dirname(target));
        await flushed(filePath);
        await rename(filePath, target);
        await flushed(path.dirname(target));
      } catch (error) {
        await rm(target, { force: true });
        throw asUnavailable(error);
      }
    },
    async open(key, range) {
      const file = await open(fileOf(folder, key)).catch(nullWhenMissing);
      return file?.createReadStream(range ?? {}) ?? null;
    },
    remove: (key) => rm(fileOf(folder, key), { force: true }),
    claim: async (installation) => {
      await mkdir(claims(folder), { recursive: true, mode: 0o700 });
      await writeFile(path.join(claims(folder), installation), '');
    },
    isClaimed: async (installation) =>
      (await stat(path.join(claims(folder), installation)).catch(nullWhenMissing)) !== null,
    close: () => undefined,
  };
}

const claims = (folder: string): string => path.join(folder, 'installations');

/** 256 folders by the key's random end, since some file systems are slow with a million files in one folder. */
function fileOf(folder: string, key: string): string {
  if (!/^[0-9a-f\-]{36}$/v.test(key)) {
    throw new TypeError(`"${key}" is not a key of this storage.`);
  }

  return path.join(folder, key.slice(-2), key);
}

async function makeFolder(folder: string): Promise<void> {
  const made = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (made !== undefined) {
    await flushed(path.dirname(folder));
  }
}

/** Flushes a file or a folder's entries to the disk, so that they survive a loss of power. */
async function flushed(target: string): Promise<void> {
  const handle = await open(target, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function nullWhenMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') {
    return null;
  }

  throw error;
}

/** In seconds. An operator has to free space. */
const retryAfter = 60;

/**
 * Refuses uploads while less than this percentage of the folder's disk is free. A full disk would also stop PostgreSQL,
 * which often has its data there.
 */
export function diskGuard(folder: string, leastFree: number): () => Promise<void> {
  return async () => {
    if (leastFree === 0) {
      return;
    }

    const { bavail, blocks } = await statfs(folder).catch((error: unknown) => {
      throw asUnavailable(error);
    });
    if (blocks > 0 && (bavail / blocks) * 100 < leastFree) {
      const message =
        'The disk is nearly full, so files cannot be stored now. Posts without new files are not affected. Try again later.';
      throw new AppError('unavailable', message, { retryAfter });
    }
  };
}

const noRoom = 'There is no room for this file now. Try again later.';
const noFolder = 'The folder of media files cannot be used now. Try again later.';

/** Errors that an operator has to fix: a full disk or quota, and a folder that is gone, read-only or defective. */
const messages: Readonly<Record<string, string>> = {
  ENOSPC: noRoom,
  EDQUOT: noRoom,
  EFBIG: noRoom, // Too large for the file system.
  ENOENT: noFolder,
  ENOTDIR: noFolder,
  EACCES: noFolder,
  EPERM: noFolder,
  EROFS: noFolder,
  EIO: noFolder,
  ESTALE: noFolder,
};

/** Converts an error of the disk to `unavailable`; returns other errors unchanged. */
export function asUnavailable(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const message = Object.hasOwn(messages, code) ? messages[code] : undefined;
  return message === undefined
    ? error
    : new AppError('unavailable', message, { retryAfter, cause: error });
}
