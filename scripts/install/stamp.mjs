import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { InstallError } from './failure.mjs';
import { hasPinnedNode } from './pinned-node.mjs';

/**
 * @typedef {'production' | 'full'} PackageSet `full` adds the dev dependencies.
 * @typedef {{ lock: string, platform: string, set?: PackageSet }} Stamp Identifies the installed packages.
 */

/** Inside node_modules, so that deleting that folder forces an install. */
const stampFile = (root) => path.join(root, 'node_modules', '.punctual-installed.json');

/**
 * Returns the stamp that node_modules should have here.
 *
 * @param {string} root
 * @returns {Stamp}
 * @throws InstallError when package.json and the lock file differ.
 */
export function currentStamp(root) {
  const lockText = readFileSync(path.join(root, 'package-lock.json'), 'utf8');
  const wanted = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const locked = JSON.parse(lockText).packages[''];
  for (const kind of ['dependencies', 'optionalDependencies', 'devDependencies']) {
    if (!sameEntries(wanted[kind] ?? {}, locked[kind] ?? {})) {
      throw new InstallError(
        `package.json and package-lock.json do not agree about ${kind}.\n` +
          'Run "npm install --ignore-scripts" and commit the lock file.',
      );
    }
  }

  return {
    lock: createHash('sha256').update(lockText).digest('hex'),
    platform: `${process.platform}-${process.arch}`,
  };
}

/**
 * Whether `set` was installed for exactly this lock file. `full` includes `production`.
 *
 * @param {string} root
 * @param {Stamp} stamp
 * @param {PackageSet} set
 */
export function isInstalled(root, stamp, set) {
  const found = readJson(stampFile(root));
  return (
    found !== undefined &&
    found.lock === stamp.lock &&
    found.platform === stamp.platform &&
    (found.set === set || found.set === 'full') &&
    hasPinnedNode(root)
  );
}

/**
 * The set to install when `set` is requested: installed dev dependencies are kept.
 *
 * @param {string} root
 * @param {PackageSet} set
 * @returns {PackageSet}
 */
export function setToInstall(root, set) {
  const { packages = {} } = readJson(path.join(root, 'node_modules', '.package-lock.json')) ?? {};
  return Object.values(packages).some(({ dev }) => dev) ? 'full' : set;
}

/** @param {string} root @param {Stamp} stamp */
export function writeStamp(root, stamp) {
  writeFileSync(stampFile(root), `${JSON.stringify(stamp, undefined, 2)}\n`);
}

/** Undefined when the file is missing or incomplete. */
function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

function sameEntries(a, b) {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
