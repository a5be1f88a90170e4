import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { InstallError } from './failure.mjs';

/** @param {string} root */
const link = (root) => path.join(root, 'node_modules', '.bin', 'node');

/**
 * Whether a Node lies where npm scripts find it first.
 *
 * @param {string} root
 */
export const hasPinnedNode = (root) => existsSync(link(root));

/**
 * Sees to it that npm scripts run on Node 24.
 *
 * The Node of the platforms that package.json names under `optionalDependencies` comes with the other packages: of the
 * version and with the checksum of the lock file. Elsewhere it is the user's own, which must be 24 or newer: what the
 * lock file has no checksum of is not fetched.
 *
 * @param {string} root
 * @param {Pick<NodeJS.Process, 'platform' | 'arch' | 'version' | 'execPath'>} own
 * @throws InstallError saying what to do when there is none
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
    // npm takes an optional package that cannot be fetched for none that is needed.
    throw new InstallError(
      `Node 24 (${wanted}) could not be fetched from the package registry.\n` +
        'Check the network and run the same command again.',
    );
  }

  if (Number.parseInt(own.version.slice(1), 10) < 24) {
    throw new InstallError(
      `For ${own.platform}-${own.arch} Punctual brings no Node: it needs yours to be 24 or newer. This is ${own.version}.`,
    );
  }

  rmSync(link(root), { force: true });
  symlinkSync(own.execPath, link(root));
}
