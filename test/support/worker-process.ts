import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import type { Punctual } from './punctual.ts';

const main = fileURLToPath(new URL('../../worker/main.ts', import.meta.url));

/** Starts `worker/main.ts` as operators do, and waits until it polls. The test's end kills it. */
export async function startWorkerProcess(
  t: ExecutionContext,
  punctual: Punctual,
  allowPorts: readonly number[],
): Promise<ChildProcess> {
  const worker = spawn(process.execPath, [main], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      ...punctual.temporalEnv,
      DATABASE_URL: punctual.databaseUrl,
      SECRET_KEY: punctual.secretKey,
      LOG_LEVEL: 'info',
      PUNCTUAL_MEDIA_DIR: punctual.mediaDir,
      PUNCTUAL_EGRESS_ALLOW: allowPorts.map((port) => `127.0.0.1/32:${port}`).join(','),
    },
  });
  t.teardown(() => killed(worker));
  await untilPolling(worker);
  return worker;
}

function untilPolling(worker: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    worker.stdout?.on('data', (chunk) => {
      output = `${output}${String(chunk)}`.slice(-5000);
      if (output.includes('"msg":"polling"')) {
        resolve();
      }
    });
    worker.once('exit', () => reject(new Error(`The worker ended before it polled: ${output}`)));
  });
}

/** SIGKILL: no clean-up, no goodbye. Resolves when it is gone. */
export async function killed(worker: ChildProcess): Promise<void> {
  if (worker.exitCode === null && worker.signalCode === null) {
    const gone = once(worker, 'exit');
    worker.kill('SIGKILL');
    await gone;
  }
}
