import { access } from 'node:fs/promises';
import path from 'node:path';
import type { Stage } from '../../../scripts/parts/part.ts';
import { addToCache, cacheFolder, onPath } from '../../../scripts/programs/find-program.ts';
import { runCommand } from '../../../scripts/run-command.ts';
import { withProgress } from '../../../scripts/terminal.ts';

type PythonPackages = {
  /** The machine's `python3`. */
  readonly python: string;
  /** A folder for `PYTHONPATH`; programs are in its `bin`. */
  readonly packages: string;
};

/**
 * Installs Python packages once into the cache folder, with the checksums of a requirements file.
 *
 * @param name The folder's: the packages and their versions.
 * @throws Error with the reason when they cannot be installed.
 */
export async function installPythonPackages(
  name: string,
  requirements: string,
  { say, signal }: Stage,
): Promise<PythonPackages> {
  const { env } = process;
  const python = await onPath('python3', env);
  if (!python) {
    throw new Error(`${name} cannot be installed: no \`python3\` on PATH.`);
  }

  const known = path.join(cacheFolder(env), name);
  const isThere = await access(known).then(
    () => true,
    () => false,
  );
  if (isThere) {
    return { python, packages: known };
  }

  const packages = await addToCache(env, name, (folder) =>
    withProgress(say, `Installing ${name} (seconds, once)`, async () => {
      const checked = ['--require-hashes', '--no-deps', '--only-binary', ':all:'];
      const args = ['-m', 'pip', 'install', '--quiet', '--target', folder, ...checked];
      const result = await runCommand(python, [...args, '-r', requirements], { env, signal });
      if (!result.ok) {
        throw new Error(`${name} could not be installed: ${result.stderr.slice(-1000)}`);
      }

      return folder;
    }),
  );
  return { python, packages };
}
