import { execFile } from 'node:child_process';
import { access, chmod, cp, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const version = '0.19.2';
const module = 'code.superseriousbusiness.org/gotosocial';
const moduleFolder = path.join(import.meta.dirname, '..', 'mastodon-server');
const run = promisify(execFile);

/** The paths of a built GoToSocial. */
export type GoToSocialBuild = {
  readonly binary: string;
  readonly webFolder: string;
  /** Compiled WebAssembly, kept between runs: without it a start takes ten seconds longer. */
  readonly wasmCacheFolder: string;
};

/**
 * Builds GoToSocial once and keeps it in the user's cache folder.
 *
 * The first build takes about 3.5 minutes (two cores, nothing downloaded yet).
 *
 * @throws Error with the reason when there is no Go, or the build fails.
 */
export async function buildGoToSocial(): Promise<GoToSocialBuild> {
  const caches = process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache');
  const folder = path.join(caches, 'punctual', `gotosocial-${version}`);
  const build = {
    binary: path.join(folder, 'gotosocial'),
    webFolder: path.join(folder, 'web'),
    wasmCacheFolder: path.join(folder, 'wazero'),
  };
  if (!(await exists(folder))) {
    await buildInto(folder);
  }

  await mkdir(build.wasmCacheFolder, { recursive: true });
  return build;
}

/** Builds under a temporary name first, so that an interrupted build is never used. */
async function buildInto(folder: string): Promise<void> {
  await requireGo();
  await mkdir(path.dirname(folder), { recursive: true });
  const unfinished = await mkdtemp(`${folder}.building-`);
  const startedAtMs = Date.now();
  console.log(`Building GoToSocial ${version}, once: 3.5 minutes on a fresh machine …`);
  const sign = setInterval(() => {
    const seconds = Math.round((Date.now() - startedAtMs) / 1000);
    console.log(`… still building GoToSocial (${seconds} s)`);
  }, 30_000);
  try {
    await compile(unfinished);
    await rename(unfinished, folder);
    const seconds = Math.round((Date.now() - startedAtMs) / 1000);
    console.log(`Built GoToSocial in ${seconds} s, kept in ${folder}.`);
  } catch (error) {
    if (!(await exists(folder))) {
      throw new Error(`GoToSocial could not be built: ${reason(error)}`, { cause: error });
    }
    // Another run finished first with an equal build.
  } finally {
    clearInterval(sign);
    await rm(unfinished, { recursive: true, force: true });
  }
}

async function compile(folder: string): Promise<void> {
  const source = path.join(folder, 'source');
  await cp(moduleFolder, source, { recursive: true });
  const options = { cwd: source, env: goEnvironment(), maxBuffer: 64 * 1024 * 1024 };
  const flags = ['-mod=mod', '-trimpath', '-ldflags', `-s -w -X main.Version=${version}`];
  const tags = 'netgo osusergo static_build kvformat timetzdata';
  const output = path.join(folder, 'gotosocial');
  await run(
    'go',
    ['build', ...flags, '-tags', tags, '-o', output, `${module}/cmd/gotosocial`],
    options,
  );

  const { stdout } = await run('go', ['list', '-mod=mod', '-m', '-f', '{{.Dir}}', module], options);
  for (const part of ['template', 'assets']) {
    const web = path.join(folder, 'web', part);
    await cp(path.join(stdout.trim(), 'web', part), web, { recursive: true });
    await makeRemovable(web);
  }
  await rm(source, { recursive: true });
}

/** Go's module folders are read-only, and so are copies of them. */
async function makeRemovable(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) {
      await chmod(path.join(entry.parentPath, entry.name), 0o755);
    }
  }
}

/** Two of its dependencies do not compile with Go 1.25 or newer; the go command downloads the older version. */
const goEnvironment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  CGO_ENABLED: '0',
  GOTOOLCHAIN: 'go1.24.13',
  GONOSUMDB: 'code.superseriousbusiness.org/*',
});

async function requireGo(): Promise<void> {
  try {
    await run('go', ['version']);
  } catch (error) {
    throw new Error('GoToSocial cannot be built: no `go` on PATH. Install Go 1.21 or newer.', {
      cause: error,
    });
  }
}

/** The end of the go command's output has the reason; its beginning lists downloads. */
const reason = (error: unknown): string =>
  error instanceof Error && 'stderr' in error && error.stderr
    ? String(error.stderr).slice(-1000).trim()
    : String(error);

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );
