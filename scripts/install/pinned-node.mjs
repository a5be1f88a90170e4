import { existsSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { InstallError } from './install-error.mjs';
import { run } from './run.mjs';

/** @param {string} root */
const link = (root) => path.join(root, 'node_modules', '.bin', 'node');

/**
 * Whether the pinned Node lies where npm scripts find it first.
 *
 * @param {string} root
 */
export const hasPinnedNode = (root) => existsSync(link(root));

/**
 * Brings the pinned Node unless it is there: npm has just thrown it away if the lock file names another version.
 *
 * The npm package `node` downloads the program of this platform when it is installed. npm links to it only
 * when it is there beforehand, so the link is made here.
 *
 * @param {string} root
 */
export async function ensurePinnedNode(root) {
  if (hasPinnedNode(root)) {
    return;
  }

  const folder = path.join(root, 'node_modules', 'node');
  // Not `process.execPath`: this may run on the pinned Node of before, which is gone.
  const command = ['node', 'installArchSpecificPackage.js'];
  const { ok, output } = await run(root, 'Fetching Node 24', command, { cwd: folder });
  if (!ok || !existsSync(path.join(folder, 'bin', 'node'))) {
    throw new InstallError(
      `${output.trim()}\n\nThe pinned Node could not be fetched from the package registry.\n` +
        'Check the network and run the same command again.',
    );
  }

  if (process.platform !== 'win32') {
    rmSync(link(root), { force: true });
    symlinkSync(path.join('..', 'node', 'bin', 'node'), link(root));
  }
}
