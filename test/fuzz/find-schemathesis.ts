import { createHash } from 'node:crypto';
import { access, readFile } from 'node:fs/promises';
import path from 'node:path';
import { PlainError, withProgress } from '../../scripts/terminal.ts';
import { runCommand } from '../../scripts/run-command.ts';
import { addToCache, cacheFolder } from '../../scripts/programs/find-program.ts';

const requirements = path.join(import.meta.dirname, 'requirements.txt');

/** Time limit for the installation, in milliseconds. */
const installMs = 5 * 60_000;

/** Prints Python's version, and fails for one that Schemathesis does not support. */
const version =
  'import sys; assert sys.version_info >= (3, 11); print("%d.%d.%d" % sys.version_info[:3])';

/**
 * Finds the Python of a virtual environment with the Schemathesis of `requirements.txt`. Creates it once per version,
 * in the user's cache folder, in about 15 s.
 *
 * @throws PlainError with the reason when it cannot be created.
 */
export async function findSchemathesis(say: (line: string) => void): Promise<string> {
  const { env } = process;
  const asked = await runCommand('python3', ['-c', version]);
  if (!asked.ok) {
    throw new PlainError('Fuzzing needs python3, 3.11 or newer, on PATH.');
  }

  const hash = createHash('sha256').update(await readFile(requirements));
  const entry = `schemathesis-py${asked.stdout.trim()}-${hash.digest('hex').slice(0, 12)}`;
  const folder = path.join(cacheFolder(env), entry);
  if (!(await isThere(folder))) {
    await withProgress(say, 'Installing Schemathesis from PyPI, once', () =>
      addToCache(env, entry, makeEnvironment),
    );
  }

  return pythonOf(folder);
}

/** Modules run with `python -m`, because the scripts in a virtual environment break when it is moved. */
const pythonOf = (folder: string): string => path.join(folder, 'bin', 'python');

async function makeEnvironment(workshop: string): Promise<string> {
  const folder = path.join(workshop, 'venv');
  await runOrThrow('python3', ['-m', 'venv', folder]);
  const exactly = ['--require-hashes', '--no-deps', '--only-binary', ':all:', '-r', requirements];
  await runOrThrow(pythonOf(folder), ['-m', 'pip', 'install', '--quiet', ...exactly]);
  return folder;
}

async function runOrThrow(file: string, args: readonly string[]): Promise<void> {
  const { ok, stdout, stderr } = await runCommand(file, args, { timeoutMs: installMs });
  if (!ok) {
    const words = `${stdout}\n${stderr}`.trim().split('\n').slice(-5).join('\n');
    throw new PlainError(`Schemathesis could not be installed.\n${words}`);
  }
}

const isThere = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );
