import { createHash } from 'node:crypto';
import { access, copyFile, mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { addToCache, cacheFolder } from '../../../scripts/programs/find-program.ts';
import { runCommand } from '../../../scripts/run-command.ts';
import { withProgress, type Say } from '../../../scripts/terminal.ts';

const installMs = 5 * 60_000;

/**
 * Installs packages of npm once, into the user's cache folder, by a `package.json` and a lock file of their own. For
 * tools that one test or command needs, so that not every installation of the project brings them.
 *
 * @param name Shown while it installs.
 * @param source Folder with the two files.
 * @returns their `node_modules`.
 * @throws Error with the reason when npm fails.
 */
export async function installNpmPackages(
  name: string,
  source: string,
  { env, say, signal }: { env: NodeJS.ProcessEnv; say: Say; signal: AbortSignal },
): Promise<string> {
  const lock = await readFile(path.join(source, 'package-lock.json'));
  const hash = createHash('sha256').update(lock).digest('hex').slice(0, 12);
  const folder = `${name.replaceAll(' ', '-')}-${hash}`;
  const installed = path.join(cacheFolder(env), folder, 'node_modules');
  const isThere = await access(installed).then(
    () => true,
    () => false,
  );
  if (isThere) {
    return installed;
  }

  await addToCache(env, folder, (unfinished) =>
    withProgress(say, `Installing ${name} (once)`, async () => {
      const made = path.join(unfinished, folder);
      await mkdir(made);
      for (const file of ['package.json', 'package-lock.json']) {
        await copyFile(path.join(source, file), path.join(made, file));
      }
      // npm leaves out packages that its own Node is too old for: this Node runs it.
      const PATH = [path.dirname(process.execPath), env['PATH']].join(path.delimiter);
      const flags = ['--ignore-scripts', '--no-audit', '--no-fund'];
      const options = { cwd: made, env: { ...env, PATH }, signal, timeoutMs: installMs };
      const { ok, stdout, stderr } = await runCommand('npm', ['ci', ...flags], options);
      if (!ok) {
        const reason = (stderr || stdout).trim().slice(-1000);
        throw new Error(`${name} could not be installed: ${reason}`);
      }
      return made;
    }),
  );
  return installed;
}
