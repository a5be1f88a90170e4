import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Runs `install` under a lock, since `npm start` and `npm test` may run at once in two terminals.
 *
 * @param {string} root
 * @param {() => Promise<void>} install
 */
export async function withInstallLock(root, install) {
  const lock = path.join(root, '.data', 'installing');
  mkdirSync(path.dirname(lock), { recursive: true });
  let hasSaidSo = false;
  while (!take(lock)) {
    const holder = holderOf(lock);
    if (holder !== undefined && isInstall(holder)) {
      if (!hasSaidSo) {
        hasSaidSo = true;
        console.log(`Waiting for the install that process ${holder} runs in this folder ...`);
      }
      await sleep(200);
    } else {
      rmSync(lock, { force: true });
    }
  }

  try {
    await install();
  } finally {
    rmSync(lock, { force: true });
  }
}

function take(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') {
      return false;
    }

    throw error;
  }
}

function holderOf(lock) {
  try {
    return Number.parseInt(readFileSync(lock, 'utf8'), 10) || undefined;
  } catch {
    return undefined;
  }
}

/** Process ids are reused, so on Linux the command line is compared too. */
function isInstall(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }

  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('install.mjs');
  } catch {
    return true;
  }
}
