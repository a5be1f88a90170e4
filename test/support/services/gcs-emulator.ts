import path from 'node:path';
import { respondsAt, startPart, untilReady, type Stage } from '../../../scripts/parts/part.ts';
import { freePort } from '../../../scripts/ports.ts';
import { installPythonPackages } from './python-packages.ts';
import type { TestService } from './test-service.ts';

const name = 'gcp-storage-emulator-2026.7.19';
const requirements = path.join(import.meta.dirname, 'gcs-emulator.txt');
const readyWithinMs = 30_000;

/**
 * Starts an emulator of Google Cloud Storage on a free port of the loopback. It has the same protocol for resumable
 * uploads as YouTube, and stores uploads in memory.
 *
 * @throws Error with the reason when it cannot be installed or does not start.
 */
export async function startGcsEmulator(folder: string, stage: Stage): Promise<TestService> {
  const { python, packages } = await installPythonPackages(name, requirements, stage);
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
    () => respondsAt(`${url}/storage/v1/b?project=test`, 200),
    readyWithinMs,
    stage.signal,
  );
  return { env: { PUNCTUAL_TEST_GCS_URL: url }, stop: async () => undefined };
}
