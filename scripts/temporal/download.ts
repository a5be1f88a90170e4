import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { withProgress } from '../progress.ts';
import { runCommand } from '../run-command.ts';
import pinned from './archives.json' with { type: 'json' };
import { addToCache } from './cache-folder.ts';
import { fetchArchive, usualPatience, type Archive, type Patience } from './fetch-archive.ts';
import type { Search, Source } from './find-program.ts';

/** What archives.json holds: releases by program, archives by platform and architecture as Node names them. */
export type Releases = Readonly<
  Record<Downloadable, { version: string; archives: Readonly<Record<string, Archive>> }>
>;
export type Downloadable = keyof typeof pinned;

/** The name of a downloaded program in the cache. */
export const downloaded = (what: Downloadable, releases: Releases = pinned): string =>
  `${what}-${releases[what].version}-downloaded`;

/** The program's release, which is used only if its SHA-256 is the one of archives.json. */
export function download(
  what: Downloadable,
  releases: Releases = pinned,
  patience = usualPatience,
): Source {
  const { version, archives } = releases[what];
  const platform = `${process.platform}-${process.arch}`;
  const archive = archives[platform];
  return {
    name: 'download',
    async find(search) {
      if (!archive) {
        return { reason: `scripts/temporal/archives.json has no archive for ${platform}` };
      }

      const title = `Downloading ${what} ${version} from ${new URL(archive.url).host}`;
      const make = (folder: string) =>
        withProgress(search.say, title, () => unpacked(what, archive, folder, patience, search));
      try {
        return { path: await addToCache(search.env, downloaded(what, releases), make) };
      } catch (error) {
        return { reason: error instanceof Error ? error.message : String(error) };
      }
    },
  };
}

/** @returns the path of the program, in the folder. */
async function unpacked(
  what: string,
  { url, sha256 }: Archive,
  folder: string,
  patience: Patience,
  { signal }: Search,
): Promise<string> {
  const file = path.join(folder, 'archive.tar.gz');
  const found = await fetchArchive(url, file, patience, signal);
  if (found !== sha256) {
    throw new Error(`what came is not what archives.json names: its SHA-256 is ${found}`);
  }

  const { ok, stderr } = await runCommand('tar', ['-xzf', file, '-C', folder]);
  const within = ok ? await readdir(folder, { recursive: true }) : [];
  const program = within.find((name) => path.basename(name) === what);
  if (!program) {
    throw new Error(`the archive has no ${what}: ${stderr.trim()}`);
  }

  return path.join(folder, program);
}
