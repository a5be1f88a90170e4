import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { InstallError } from './failure.mjs';

/** @param {string} root */
const link = (root) => path.join(root, 'node_modules', '.bin', 'node');

/**
 * Whether the Node that npm scripts find first is installed.
 *
 * @param {string} root
 */
export const hasPinnedNode = (root) => existsSync(link(root));

/**
 * Makes npm scripts run on Node 24.
 *
 * For the platforms in `optionalDependencies` of package.json, Node is a package, with version and checksum in the lock
 * file. On other platforms it is the user's own, which must be 24 or newer: nothing without a checksum is downloaded.
 *
 * @param {string} root
 * @param {Pick<NodeJS.Process, 'platform' | 'arch' | 'version' | 'execPath'>} own
 * @throws InstallError that explains what to do when there is none
 */
export function ensurePinnedNode(root, own = process) {
  if (hasPinnedNode(root)) {
    return;
  }

  const { optionalDependencies = {} } = JSON.parse(
    readFileSync(path.join(root, 'package.json'), 'utf8'),
  );
  const wanted = `node-${own.platform}-${own.arch}`;
  if (wanted in optionalDependencies) {
    // npm ignores optional packages that it cannot download.
    throw new InstallError(
      `Node 24 (${wanted}) could not be fetched from the package registry.\n` +
        'Check the network and run the same command again.',
    );
  }

  if (Number.parseInt(own.version.slice(1), 10) < 24) {
    throw new InstallError(
      `Punctual has no Node for ${own.platform}-${own.arch}. Install Node 24 or newer. This is ${own.version}.`,
    );
  }

  rmSync(link(root), { force: true });
  symlinkSync(own.execPath, link(root));
}
