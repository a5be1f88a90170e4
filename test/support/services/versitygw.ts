import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { respondsAt, startPart, untilReady, type Stage } from '../../../scripts/parts/part.ts';
import { freePort } from '../../../scripts/ports.ts';
import type { TestService } from './test-service.ts';
import { withProgress, type Say } from '../../../scripts/terminal.ts';
import { runCommand } from '../../../scripts/run-command.ts';
import { addToCache, cached, onPath } from '../../../scripts/programs/find-program.ts';

const name = 'versitygw-1.8.0';
const module = 'github.com/versity/versitygw/cmd/versitygw@v1.8.0';

/**
 * Builds versitygw, an S3 server, once and keeps it in the user's cache folder. Takes about a minute on two cores.
 *
 * @returns the program's path
 * @throws Error with the reason when there is no Go, or the build fails.
 */
async function buildVersitygw(
  env: NodeJS.ProcessEnv,
  { say, signal }: { readonly say: Say; readonly signal: AbortSignal },
): Promise<string> {
  const found = await cached(name, name).find({ env, say, signal });
  if ('path' in found) {
    return found.path;
  }

  const go = await onPath('go', env);
  if (!go) {
    throw new Error('versitygw cannot be built: no `go` on PATH.');
  }

  return addToCache(env, name, (folder) =>
    withProgress(say, 'Building versitygw 1.8.0 with Go (about a minute, once)', async () => {
      const result = await runCommand(go, ['install', module], {
        // Another GOOS or GOARCH would build for another machine and change the output folder.
        env: { ...env, GOBIN: folder, GOOS: '', GOARCH: '' },
        signal,
      });
      if (!result.ok) {
        throw new Error(`versitygw could not be built: ${result.stderr.trim().slice(-1000)}`);
      }

      return path.join(folder, 'versitygw');
    }),
  );
}

const readyWithinMs = 30_000;

/**
 * Starts versitygw, an S3 server, on a free port of the loopback. Its buckets are in a folder of this run, and the
 * metadata in a second one, for file systems without extended attributes.
 *
 * @throws Error with the reason when it cannot be built or does not start.
 */
export async function startVersitygw(folder: string, stage: Stage): Promise<TestService> {
  const program = await buildVersitygw(process.env, stage);
  // versitygw compares folders by prefix: neither name may begin with the other.
  const [buckets, sidecar] = [path.join(folder, 's3-buckets'), path.join(folder, 's3-metadata')];
  await mkdir(buckets);
  await mkdir(sidecar);
  const address = `127.0.0.1:${await freePort()}`;
  const [accessKey, secretKey] = [crypto.randomUUID(), crypto.randomUUID()];
  const part = await startPart(
    {
      name: 'versitygw',
      command: [program, '--port', address, '--quiet', 'posix', '--sidecar', sidecar, buckets],
      env: { ROOT_ACCESS_KEY: accessKey, ROOT_SECRET_KEY: secretKey },
      logFile: path.join(folder, 'versitygw.log'),
      rank: 1,
      graceMs: 5000,
    },
    stage,
  );
  const url = `http://${address}`;
  // A working server refuses a request without credentials.
  await untilReady(part, () => respondsAt(url, 403), readyWithinMs, stage.signal);
  return {
    env: {
      PUNCTUAL_TEST_S3_URL: url,
      PUNCTUAL_TEST_S3_ACCESS_KEY: accessKey,
      PUNCTUAL_TEST_S3_SECRET_KEY: secretKey,
    },
    stop: async () => undefined,
  };
}
