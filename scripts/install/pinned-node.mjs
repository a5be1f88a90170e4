import { existsSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { InstallError } from './install-error.mjs';
import { run } from './run.mjs';

/**
 * Brings the pinned Node to node_modules/.bin/node, where npm scripts find it first.
 *
 * The npm package `node` downloads the program of this platform when it is installed. npm links it only
 * when it is there beforehand, so the link is made here.
 *
 * @param {string} root
 */
export async function fetchPinnedNode(root) {
  const folder = path.join(root, 'node_modules', 'node');
  // Not `process.execPath`: this may run on the pinned Node of before, which npm has just removed.
  const command = ['node', 'installArchSpecificPackage.js'];
  const { ok, output } = await run(root, 'Fetching Node 24', command, { cwd: folder });
  const program = path.join(folder, 'bin', 'node');
  if (!ok || !existsSync(program)) {
    throw new InstallError(
      `${output.trim()}\n\nThe pinned Node could not be fetched from the package registry.\n` +
        'Check the network and run the same command again.',
    );
  }

  const link = path.join(root, 'node_modules', '.bin', 'node');
  if (process.platform !== 'win32' && !existsSync(link)) {
    rmSync(link, { force: true });
    symlinkSync(path.join('..', 'node', 'bin', 'node'), link);
  }
}

/**
 * The folder with the C++ headers of the pinned Node.
 *
 * @param {string} root
 * @returns {string | undefined}
 */
export function pinnedNodeHeaders(root) {
  const parent = path.join(root, 'node_modules', 'node', 'node_modules');
  return (existsSync(parent) ? readdirSync(parent) : [])
    .map((name) => path.join(parent, name))
    .find((folder) => existsSync(path.join(folder, 'include', 'node', 'node.h')));
}
