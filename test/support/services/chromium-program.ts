import { access, readdir } from 'node:fs/promises';
import path from 'node:path';
import { addToCache, cached, onPath } from '../../../scripts/programs/find-program.ts';
import type { Say } from '../../../scripts/terminal.ts';
import { openDebianPackages } from './debian-packages.ts';

const entry = 'chromium';
const program = path.join('usr', 'lib', 'chromium', 'chromium-headless-shell');

/** The program's possible names. */
const names = ['chromium', 'chromium-headless-shell', 'chromium-browser', 'google-chrome'];

/** A browser's program and the environment variables that it needs. */
export type Chromium = { readonly path: string; readonly env: Readonly<Record<string, string>> };

/**
 * Finds Chromium: by `PUNCTUAL_CHROMIUM`, on PATH, or in the user's cache folder. Otherwise unpacks Debian's headless
 * Chromium into that folder, with the libraries that the machine lacks: 100 MB, about a minute.
 *
 * @throws Error with the reason when none can be found or unpacked.
 */
export async function findChromium(
  env: NodeJS.ProcessEnv,
  { say, signal }: { readonly say: Say; readonly signal: AbortSignal },
): Promise<Chromium> {
  const named = env['PUNCTUAL_CHROMIUM'];
  if (named) {
    return { path: named, env: {} };
  }

  for (const name of names) {
    const own = await onPath(name, env);
    if (own) {
      return { path: own, env: {} };
    }
  }

  const kept = await cached(entry, path.join(entry, program)).find({ env, say, signal });
  if ('path' in kept) {
    return unpacked(kept.path.slice(0, -program.length - 1));
  }

  if (!(await onPath('apt-get', env))) {
    throw new Error('there is neither `chromium` nor `apt-get` on PATH.');
  }

  say('Fetching Chromium (100 MB), once: a minute …');
  return unpacked(await addToCache(env, entry, (workshop) => unpack(workshop, env, signal)));
}

async function unpack(
  workshop: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<string> {
  const debian = await openDebianPackages(workshop, env, signal);
  const download = ['-qq', '-y', '--no-install-recommends', '--download-only', 'install'];
  await debian.run('apt-get', ...debian.settings, ...download, 'chromium-headless-shell');
  return debian.unpack();
}

/** @param folder With the unpacked packages. */
async function unpacked(folder: string): Promise<Chromium> {
  // Debian's library folder is named after the machine's architecture.
  const lib = path.join(folder, 'usr', 'lib');
  const own = (await readdir(lib)).filter((name) => name.includes('-linux-gnu'));
  const libraries = own.flatMap((name) => [
    path.join(lib, name),
    path.join(lib, name, 'pulseaudio'),
  ]);
  const fonts = path.join(folder, 'etc', 'fonts');
  const bringsFonts = await access(path.join(fonts, 'fonts.conf')).then(
    () => true,
    () => false,
  );
  return {
    path: path.join(folder, program),
    env: {
      LD_LIBRARY_PATH: libraries.join(path.delimiter),
      ...(bringsFonts ? { FONTCONFIG_PATH: fonts, FONTCONFIG_SYSROOT: folder } : {}),
    },
  };
}
