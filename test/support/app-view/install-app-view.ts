import { createHash } from 'node:crypto';
import { access, copyFile, mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { addToCache, cacheFolder } from '../../../scripts/programs/find-program.ts';
import { runCommand } from '../../../scripts/run-command.ts';
import { withProgress, type Say } from '../../../scripts/terminal.ts';

const files = ['package.json', 'package-lock.json'];

/**
 * Installs Bluesky's AppView once: 300 MB of packages that only tests of Bluesky's figures need, so they lie in the
 * user's cache folder and not among the project's own. Takes 15 seconds with npm's cache cold.
 *
 * @returns its `node_modules`
 * @throws Error with the reason when npm fails.
 */
export async function installAppView(
  env: NodeJS.ProcessEnv,
  { say, signal }: { readonly say: Say; readonly signal: AbortSignal },
): Promise<string> {
  const lock = await readFile(path.join(import.meta.dirname, 'package-lock.json'));
  const name = `app-view-${createHash('sha256').update(lock).digest('hex').slice(0, 12)}`;
  const installed = path.join(cacheFolder(env), name, 'node_modules');
  const isThere = await access(installed).then(
    () => true,
    () => false,
  );
  if (isThere) {
    return installed;
  }

  await addToCache(env, name, (folder) =>
    withProgress(say, 'Installing Bluesky’s AppView (once)', async () => {
      const made = path.join(folder, name);
      await mkdir(made);
      for (const file of files) {
        await copyFile(path.join(import.meta.dirname, file), path.join(made, file));
      }
      // npm leaves out packages that its own Node is too old for: this Node runs it.
      const PATH = [path.dirname(process.execPath), env['PATH']].join(path.delimiter);
      const flags = ['--ignore-scripts', '--no-audit', '--no-fund'];
      const result = await runCommand('npm', ['ci', ...flags], {
        cwd: made,
        env: { ...env, PATH },
        signal,
      });
      if (!result.ok) {
        const reason = (result.stderr || result.stdout).trim().slice(-1000);
        throw new Error(`Bluesky’s AppView could not be installed: ${reason}`);
      }
      return made;
    }),
  );
  return installed;
}
