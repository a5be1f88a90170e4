import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../../../scripts/run-command.ts';

/** Packages of the distribution, unpacked without installing them. */
export type DebianPackages = {
  /** Runs a program of the distribution. @throws Error with its output. */
  readonly run: (name: string, ...args: readonly string[]) => Promise<string>;
  /** Options of `apt-get` and `apt-cache`. */
  readonly settings: readonly string[];
  /** Unpacks all downloaded packages. @returns the folder. */
  readonly unpack: () => Promise<string>;
};

const timeoutMs = 300_000;

/**
 * An apt with its own state in a folder: it needs no privileges and does not change the machine. Downloads are stored
 * in the folder itself.
 */
export async function openDebianPackages(
  workshop: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<DebianPackages> {
  const [state, made] = [path.join(workshop, 'apt'), path.join(workshop, 'made')];
  for (const folder of ['lists/partial', 'partial']) {
    await mkdir(path.join(state, folder), { recursive: true });
  }

  await mkdir(made);
  const run = async (name: string, ...args: readonly string[]): Promise<string> => {
    const result = await runCommand(name, args, { cwd: state, env, signal, timeoutMs });
    if (!result.ok) {
      throw new Error(`${name} failed: ${result.stderr.trim().slice(-500)}`);
    }

    return result.stdout;
  };
  const settings = [
    ['Dir::State', state],
    ['Dir::State::lists', path.join(state, 'lists')],
    ['Dir::State::status', '/var/lib/dpkg/status'],
    ['Dir::Cache', state],
    ['Dir::Cache::archives', state],
    ['Debug::NoLocking', '1'],
  ].flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  await run('apt-get', '-qq', ...settings, 'update');
  return {
    run,
    settings,
    unpack: async () => {
      for (const file of (await readdir(state)).filter((each) => each.endsWith('.deb'))) {
        await run('dpkg-deb', '-x', file, made);
      }

      return made;
    },
  };
}
