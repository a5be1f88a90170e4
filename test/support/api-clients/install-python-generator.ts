import { createHash } from 'node:crypto';
import { access, readFile } from 'node:fs/promises';
import path from 'node:path';
import { addToCache, cacheFolder } from '../../../scripts/programs/find-program.ts';
import { runCommand, type CommandOptions } from '../../../scripts/run-command.ts';
import { withProgress, type Say } from '../../../scripts/terminal.ts';

type Stage = { readonly say: Say; readonly signal: AbortSignal };

const here = import.meta.dirname;
const installMs = 5 * 60_000;

/** `openapi-python-client` needs this version. */
const version =
  'import sys; assert sys.version_info >= (3, 10); print("%d.%d.%d" % sys.version_info[:3])';

/**
 * Installs `openapi-python-client` once, into a virtual environment in the user's cache folder.
 *
 * @returns the environment's `python`.
 * @throws Error with the reason when it cannot be installed.
 */
export async function installPythonGenerator(
  env: NodeJS.ProcessEnv,
  { say, signal }: Stage,
): Promise<string> {
  const asked = await runCommand('python3', ['-c', version], { env, signal });
  if (!asked.ok) {
    throw new Error('openapi-python-client needs python3, 3.10 or newer, on PATH.');
  }

  const requirements = path.join(here, 'requirements.txt');
  const name = `openapi-python-client-py${asked.stdout.trim()}-${await hashOf(requirements)}`;
  const folder = path.join(cacheFolder(env), name);
  if (!(await isThere(folder))) {
    await withProgress(say, 'Installing openapi-python-client (once)', () =>
      addToCache(env, name, async (workshop) => {
        const made = path.join(workshop, 'venv');
        await run('python3', ['-m', 'venv', made], { env, signal });
        const exactly = ['--require-hashes', '--no-deps', '--only-binary', ':all:'];
        const install = ['-m', 'pip', 'install', '--quiet', ...exactly, '-r', requirements];
        await run(path.join(made, 'bin', 'python'), install, { env, signal });
        return made;
      }),
    );
  }

  return path.join(folder, 'bin', 'python');
}

async function run(file: string, args: readonly string[], options: CommandOptions): Promise<void> {
  const { ok, stdout, stderr } = await runCommand(file, args, {
    ...options,
    timeoutMs: installMs,
  });
  if (!ok) {
    const reason = (stderr || stdout).trim().slice(-1000);
    throw new Error(`openapi-python-client could not be installed: ${reason}`);
  }
}

const hashOf = async (file: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
    .slice(0, 12);

const isThere = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );
