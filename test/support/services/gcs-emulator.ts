import { access } from 'node:fs/promises';
import path from 'node:path';
import { answers, startPart, untilReady, type Stage } from '../../../scripts/parts/part.ts';
import { freePort } from '../../../scripts/ports.ts';
import { addToCache, cacheFolder, onPath } from '../../../scripts/programs/find-program.ts';
import { runCommand } from '../../../scripts/run-command.ts';
import { withProgress } from '../../../scripts/terminal.ts';
import type { TestService } from './test-service.ts';

const name = 'gcp-storage-emulator-2026.7.19';
const requirements = path.join(import.meta.dirname, 'gcs-emulator.txt');
const readyWithinMs = 30_000;

/**
 * Starts an emulator of Google's storage, which speaks the same protocol of resumable uploads as YouTube, on a free port
 * of the loopback. What it takes lives in its memory.
 *
 * @throws Error with the reason when it cannot be installed or does not start.
 */
export async function startGcsEmulator(folder: string, stage: Stage): Promise<TestService> {
  const { python, packages } = await install(stage);
  const port = await freePort();
  const options = ['start', '--in-memory', '--host', '127.0.0.1', '--port', String(port)];
  const part = await startPart(
    {
      name: 'gcs-emulator',
      command: [python, '-m', 'gcp_storage_emulator', ...options],
      env: { PYTHONPATH: packages },
      logFile: path.join(folder, 'gcs-emulator.log'),
      rank: 1,
      graceMs: 5000,
    },
    stage,
  );
  const url = `http://127.0.0.1:${port}`;
  await untilReady(
    part,
    () => answers(`${url}/storage/v1/b?project=test`, 200),
    readyWithinMs,
    stage.signal,
  );
  return { env: { PUNCTUAL_TEST_GCS_URL: url }, stop: async () => undefined };
}

/** Installs it once, with what it needs, at checksums that the repository has: seconds. */
async function install({
  say,
  signal,
}: Stage): Promise<{ readonly python: string; readonly packages: string }> {
  const { env } = process;
  const python = await onPath('python3', env);
  if (!python) {
    throw new Error('The emulator of Google storage cannot be installed: no `python3` on PATH.');
  }

  const known = path.join(cacheFolder(env), name);
  const isThere = await access(known).then(
    () => true,
    () => false,
  );
  if (isThere) {
    return { python, packages: known };
  }

  const packages = await addToCache(env, name, (folder) =>
    withProgress(say, 'Installing gcp-storage-emulator (seconds, once)', async () => {
      const checked = ['--require-hashes', '--no-deps', '--only-binary', ':all:'];
      const args = ['-m', 'pip', 'install', '--quiet', '--target', folder, ...checked];
      const result = await runCommand(python, [...args, '-r', requirements], { env, signal });
      if (!result.ok) {
        throw new Error(
          `The emulator of Google storage could not be installed: ${result.stderr.slice(-1000)}`,
        );
      }

      return folder;
    }),
  );
  return { python, packages };
}
