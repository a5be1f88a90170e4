import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { InstallError } from './install-error.mjs';
import { installFailure } from './registry.mjs';
import { run } from './run.mjs';

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
export async function npmInstall(root, title, flags) {
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
