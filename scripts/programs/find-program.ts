import { access, constants, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { PlainError, type Say } from '../terminal.ts';

/** What looking for a program needs to know of the world. */
export type Search = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly say: Say;
  /** Ends a download or a build that is under way. */
  readonly signal?: AbortSignal;
};

/** One place that a program may come from. Gives its path, or the reason why it cannot be had from there. */
export type Source = {
  readonly name: string;
  find(search: Search): Promise<{ readonly path: string } | { readonly reason: string }>;
};

/**
 * The path of a program from the first source that has it.
 *
 * @throws PlainError saying where was looked and what was missing, when none has; `advice` ends its message.
 */
export async function findProgram(
  what: string,
  sources: readonly Source[],
  search: Search,
  advice: string,
): Promise<string> {
  const tried: string[] = [];
  for (const { name, find } of sources) {
    search.signal?.throwIfAborted();
    const found = await find(search);
    if ('path' in found) {
      return found.path;
    }

    tried.push(`  ${name}: ${found.reason}`);
  }

  throw new PlainError(`No ${what} could be had.\n${tried.join('\n')}\n${advice}`);
}

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
 * Lets `make` fill a folder of its own and moves the result into the cache in one step, so that half a program
 * is never run, and two builds at once only cost time.
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

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** The first executable file of that name on PATH. */
export async function onPath(name: string, env: Search['env']): Promise<string | undefined> {
  for (const folder of (env['PATH'] ?? '').split(path.delimiter)) {
    const file = path.join(folder, name);
    if (folder && (await isExecutable(file))) {
      return file;
    }
  }

  return undefined;
}
