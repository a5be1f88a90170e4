import { cp, readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Say } from '../../../scripts/terminal.ts';
import { addToCache, cached, onPath } from '../../../scripts/programs/find-program.ts';
import { openDebianPackages } from './debian-packages.ts';

const entry = 'pgbouncer';
const program = path.join(entry, 'usr', 'sbin', 'pgbouncer');

/** What it needs that a machine without it may lack, whatever the distribution calls them. */
const libraries = /^lib(?:c-?ares|event)/v;

/**
 * PgBouncer of PATH or of the user's cache folder, or else from the distribution's packages, which are unpacked there:
 * by an apt with a state of its own, so that it takes no rights and changes nothing of the machine.
 *
 * @returns the program's path; what it was unpacked with is in `usr/lib` beside its folder.
 * @throws Error with the reason when there is none to be had.
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

  // Debian's folder of libraries names the machine's architecture.
  const lib = path.join(made, 'usr', 'lib');
  for (const name of await readdir(lib)) {
    const among = path.join(lib, name);
    for (const file of await readdir(among).catch(() => [])) {
      if (libraries.test(file)) {
        // Some are links with the workshop in them.
        await cp(path.join(among, file), path.join(lib, file), { dereference: true });
      }
    }
  }

  return made;
}
