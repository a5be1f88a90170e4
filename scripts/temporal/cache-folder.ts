import { access, constants, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import type { Search, Source } from './find-program.ts';

/**
 * Where programs are kept that were downloaded or built: in the user's cache folder, so that they serve every
 * copy of the project. Apart by platform, since a home folder may be shared between machines.
 */
export function cacheFolder(env: Search['env']): string {
  const base = env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache');
  return path.join(base, 'punctual', `${process.platform}-${process.arch}`);
}

/** A program that an earlier run put into the cache. */
export function cached(name: string, program: string): Source {
  return {
    name,
    async find({ env }) {
      const file = path.join(cacheFolder(env), program);
      const there = await isExecutable(file);
      return there ? { path: file } : { reason: 'not there yet' };
    },
  };
}

/**
 * Lets `make` fill a folder of its own and moves the result into the cache in one step, so that nobody ever
 * runs half a program, and two builds at once only cost time.
 *
 * @returns the path of `entry` in the cache
 */
export async function addToCache(
  env: Search['env'],
  entry: string,
  make: (folder: string) => Promise<string>,
): Promise<string> {
  const cache = cacheFolder(env);
  const target = path.join(cache, entry);
  await mkdir(path.dirname(target), { recursive: true });
  const workshop = await mkdtemp(path.join(cache, 'making-'));
  try {
    const made = await make(workshop);
    await rename(made, target).catch(async (error: NodeJS.ErrnoException) => {
      // A folder cannot replace another one: a build at the same time was faster, and its result is as good.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') {
        throw error;
      }
    });
    return target;
  } finally {
    await rm(workshop, { recursive: true, force: true });
  }
}

export async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
