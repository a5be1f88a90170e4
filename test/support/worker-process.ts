import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import type { Punctual } from './punctual.ts';
import { opened } from './opened-ports.ts';

const mainOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const ofOperators = mainOf('../../worker/main.ts');
/** A main for `startWorkerProcess`: the worker whose requests never give up. */
export const patientWorker = mainOf('./patient-worker.ts');

export type WorkerProcess = {
  readonly child: ChildProcess;
  /** Resolves when a line of the log says so, now or earlier. @throws Error when the process ends first. */
  said(message: string): Promise<void>;
  /** All that its log holds so far. */
  output(): string;
};

/** Starts `worker/main.ts` as operators do, or another, and waits until it polls. The test's end kills it. */
export async function startWorkerProcess(
  t: ExecutionContext,
  punctual: Punctual,
  allowPorts: readonly number[],
  main = ofOperators,
): Promise<ChildProcess> {
  const { child, said } = spawnWorker(t, punctual, allowPorts, main);
  await said('polling');
  return child;
}

/** Starts `worker/main.ts` as operators do, or another. The test's end kills it. */
export function spawnWorker(
  t: ExecutionContext,
  punctual: Punctual,
  allowPorts: readonly number[],
  main = ofOperators,
  settings: Readonly<Record<string, string>> = {},
): WorkerProcess {
  const child = spawn(process.execPath, [main], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      ...punctual.temporalEnv,
      DATABASE_URL: punctual.databaseUrl,
      SECRET_KEY: punctual.secretKey,
      LOG_LEVEL: 'info',
      PUNCTUAL_WORKER_HEALTH_PORT: '0',
      PUNCTUAL_MEDIA_DIR: punctual.mediaDir,
      ...opened(allowPorts),
      ...settings,
    },
  });
  t.teardown(() => killed(child));
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += String(chunk);
  });
  const said = (message: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (output.includes(`"msg":"${message}"`)) {
          resolve();
        }
      };
      child.stdout.on('data', look);
      child.once('exit', () =>
        reject(new Error(`The worker ended before it said "${message}": ${output.slice(-5000)}`)),
      );
      look();
    });
  return { child, said, output: () => output };
}

/** SIGKILL: no clean-up, no goodbye. Resolves when it is gone. */
export async function killed(worker: ChildProcess): Promise<void> {
  if (worker.exitCode === null && worker.signalCode === null) {
    const gone = once(worker, 'exit');
    worker.kill('SIGKILL');
    await gone;
  }
}

/** Resolves when a process is gone, however it ended. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    await once(child, 'exit');
  }
}
