import { mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { usedForMs, type MediaStorage, type StoredPage } from './media-storage.ts';
import { namedIfOutOfRoom } from './disk-room.ts';

/**
 * Stores files in a folder of this machine, or one that machines share.
 *
 * Moves a file to its final name after all of it is on the disk, so no name ever leads to half a file. The file must be
 * on the same file system.
 *
 * @param folder Created when it does not exist.
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
        throw namedIfOutOfRoom(error);
      }
    },
    async open(key, range) {
      const file = await open(fileOf(folder, key)).catch(nullWhenMissing);
      return file?.createReadStream(range ?? {}) ?? null;
    },
    remove: (key) => rm(fileOf(folder, key), { force: true }),
    list: (position) => listFolder(folder, position),
    markUsed: (database) => mark(path.join(folder, 'databases'), database),
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

/** Each folder of files is a page, and its name the position. */
async function listFolder(folder: string, position: string | null): Promise<StoredPage> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(nullWhenMissing);
  const folders = (entries ?? [])
    .filter((entry) => entry.isDirectory() && /^[0-9a-f\-]{2}$/v.test(entry.name))
    .map(({ name }) => name);
  const [at, further] = folders.filter((name) => name > (position ?? '')).toSorted();
  if (at === undefined) {
    return { keys: [], next: null };
  }

  const next = further === undefined ? null : at;
  try {
    return { keys: await readdir(path.join(folder, at)), next };
  } catch (obstacle) {
    return { keys: [], next, obstacle };
  }
}

async function mark(folder: string, database: string): Promise<string[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(path.join(folder, database), '');
  const marks: string[] = [];
  for (const name of await readdir(folder)) {
    const { mtimeMs } = await stat(path.join(folder, name));
    if (mtimeMs > Date.now() - usedForMs) {
      marks.push(name);
    }
  }

  return marks;
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
