// Installs the packages of package-lock.json: `node scripts/install.mjs [--production]`.
//
// Runs before `npm start` and `npm test`, so it is plain JavaScript without packages for the user's own Node (20 or
// newer). When everything is installed, it takes a few milliseconds.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { InstallError } from './install/failure.mjs';
import { withInstallLock } from './install/install-lock.mjs';
import { installPackages } from './install/packages.mjs';
import { currentStamp, isInstalled, setToInstall, writeStamp } from './install/stamp.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const set = process.argv.includes('--production') ? 'production' : 'full';

try {
  await main();
} catch (error) {
  if (!(error instanceof InstallError)) {
    throw error;
  }

  console.error(`\n${error.message}`);
  process.exitCode = 1;
}

async function main() {
  if (Number.parseInt(process.versions.node, 10) < 20) {
    throw new InstallError(`Punctual needs Node 20 or newer. This is ${process.version}.`);
  }

  const stamp = currentStamp(root);
  if (isInstalled(root, stamp, set)) {
    return;
  }

  await withInstallLock(root, async () => {
    // Another install may have finished while this one waited for the lock.
    if (!isInstalled(root, stamp, set)) {
      const wanted = setToInstall(root, set);
      await installPackages(root, wanted);
      writeStamp(root, { ...stamp, set: wanted });
    }
  });
}
