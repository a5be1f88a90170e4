import path from 'node:path';
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
export async function buildVersitygw(
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
