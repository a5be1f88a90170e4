import path from 'node:path';
import { PlainError, type Say, withProgress } from '../../../scripts/terminal.ts';
import { runCommand } from '../../../scripts/run-command.ts';
import { addToCache, cached, cacheFolder, onPath } from '../../../scripts/programs/find-program.ts';

const version = 'v1.31.2';
const folderName = `temporal-server-${version.slice(1)}`;
const packages = ['go.temporal.io/server/cmd/server', 'go.temporal.io/server/cmd/tools/sql'];

/** Temporal's production server, and the tool that creates its tables. */
export type ServerPrograms = { readonly server: string; readonly sql: string };

/**
 * Builds Temporal's production server once, which takes about 6 minutes on two cores, into the user's cache folder.
 *
 * @throws PlainError with the reason when Go is missing or the build fails.
 */
export async function buildServer(say: Say, signal: AbortSignal): Promise<ServerPrograms> {
  const { env } = process;
  const folder = path.join(cacheFolder(env), folderName);
  const programs = { server: path.join(folder, 'server'), sql: path.join(folder, 'sql') };
  const found = await cached(folderName, path.join(folderName, 'server')).find({
    env,
    say,
    signal,
  });
  if ('path' in found) {
    return programs;
  }

  const go = await onPath('go', env);
  if (!go) {
    throw new PlainError('Cannot build the Temporal server: no `go` on PATH.');
  }

  const title = `Building Temporal's server ${version} with Go (about 6 minutes, once)`;
  await addToCache(env, folderName, (workshop) =>
    withProgress(say, title, async () => {
      for (const name of packages) {
        const built = await runCommand(go, ['install', `${name}@${version}`], {
          // Another GOOS or GOARCH would build for another machine, into another folder.
          env: { ...env, GOBIN: path.join(workshop, 'programs'), GOOS: '', GOARCH: '' },
          signal,
        });
        if (!built.ok) {
          throw new PlainError(`Could not build ${name}: ${built.stderr.trim().slice(-1000)}`);
        }
      }

      return path.join(workshop, 'programs');
    }),
  );
  return programs;
}
