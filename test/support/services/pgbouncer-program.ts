import { cp, readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Say } from '../../../scripts/terminal.ts';
import { addToCache, cached, onPath } from '../../../scripts/programs/find-program.ts';
import { openDebianPackages } from './debian-packages.ts';

const entry = 'pgbouncer';
const program = path.join(entry, 'usr', 'sbin', 'pgbouncer');

/** The libraries that a machine without PgBouncer may lack, under any distribution's names. */
const libraries = /^lib(?:c-?ares|event)/v;

/**
 * Finds PgBouncer on PATH or in the user's cache folder. Otherwise unpacks the distribution's packages there, with an
 * apt that has its own state: it needs no privileges and does not change the machine.
 *
 * @returns the program's path; its libraries are in `usr/lib` beside its folder.
 * @throws Error with the reason when none can be found or unpacked.
 */
export async function findPgbouncer(
  env: NodeJS.ProcessEnv,
  { say, signal }: { readonly say: Say; readonly signal: AbortSignal },
): Promise<string> {
  const own = await onPath('pgbouncer', env);
  const kept = await cached(entry, program).find({ env, say, signal });
  if (own || 'path' in kept) {
    return own ?? ('path' in kept ? kept.path : '');
  }

  if (!(await onPath('apt-get', env))) {
    throw new Error('there is neither `pgbouncer` nor `apt-get` on PATH.');
  }

  const folder = await addToCache(env, entry, (workshop) => unpack(workshop, env, signal));
  return path.join(folder, 'usr', 'sbin', 'pgbouncer');
}

async function unpack(
  workshop: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<string> {
  const { run, settings, unpack: unpackAll } = await openDebianPackages(workshop, env, signal);
  const needed = await run('apt-cache', ...settings, 'depends', 'pgbouncer');
  const names = [...needed.matchAll(/Depends: (\S+)/gv)].flatMap(([, name = '']) =>
    libraries.test(name) ? [name] : [],
  );
  await run('apt-get', '-qq', ...settings, 'download', 'pgbouncer', ...names);
  const made = await unpackAll();

  // Debian's library folder is named after the machine's architecture.
  const lib = path.join(made, 'usr', 'lib');
  for (const name of await readdir(lib)) {
    const among = path.join(lib, name);
    for (const file of await readdir(among).catch(() => [])) {
      if (libraries.test(file)) {
        // Some are links whose targets contain the workshop's path.
        await cp(path.join(among, file), path.join(lib, file), { dereference: true });
      }
    }
  }

  return made;
}
