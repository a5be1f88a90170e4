import { access, constants, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { PlainError, type Say } from '../terminal.ts';

/** The context of a search for a program. */
export type Search = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly say: Say;
  /** Cancels a download or a build. */
  readonly signal?: AbortSignal;
};

/** A source of a program. Returns its path, or the reason why the program is not available there. */
export type Source = {
  readonly name: string;
  find(search: Search): Promise<{ readonly path: string } | { readonly reason: string }>;
};

/**
 * Returns the path of a program from the first source that has it.
 *
 * @throws PlainError that lists the reason of each source, when none has it; `advice` ends its message.
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

  throw new PlainError(`No ${what} is available.\n${tried.join('\n')}\n${advice}`);
}

/**
 * The folder for downloaded and built programs: in the user's cache folder, so that all copies of the project share
 * them, and separate by platform, since machines may share a home folder.
 */
export function cacheFolder(env: Search['env']): string {
  const base = env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache');
  return path.join(base, 'punctual', `${process.platform}-${process.arch}`);
}

/** A program that an earlier run cached. */
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
 * Lets `make` fill a temporary folder and moves the result into the cache in one step, so that an incomplete program
 * never runs. Two builds at once only cost time.
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
      // A folder cannot replace another. A concurrent build was faster, and its result is equivalent.
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

/** The first executable file with this name in PATH. */
export async function onPath(name: string, env: Search['env']): Promise<string | undefined> {
  for (const folder of (env['PATH'] ?? '').split(path.delimiter)) {
    const file = path.join(folder, name);
    if (folder && (await isExecutable(file))) {
      return file;
    }
  }

  return undefined;
}
