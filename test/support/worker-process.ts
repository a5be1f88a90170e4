import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { env } from './env.ts';
import type { Punctual } from './punctual.ts';
import { opened } from './opened-ports.ts';
import { within } from './within.ts';

const mainOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const ofOperators = mainOf('../../worker/main.ts');
/** A main for `startWorkerProcess`: the worker whose requests never time out. */
export const patientWorker = mainOf('./worker-without-timeouts.ts');

export type WorkerProcess = {
  readonly child: ChildProcess;
  /**
   * Resolves when a line of the log contains the message, now or earlier.
   *
   * @throws Error with the end of the log when the process ends first, or after 100 s.
   */
  logged(message: string): Promise<void>;
  /** Everything that it has logged so far. */
  output(): string;
};

/** Starts `worker/main.ts` as operators do, or another main, and waits until it polls. The test's end kills it. */
export async function startWorkerProcess(
  t: ExecutionContext,
  punctual: Punctual,
  allowPorts: readonly number[],
  main = ofOperators,
): Promise<ChildProcess> {
  const { child, logged } = spawnWorker(t, punctual, allowPorts, main);
  await logged('polling');
  return child;
}

/** Starts `worker/main.ts` as operators do, or another main. The test's end kills it. */
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
      PUNCTUAL_WORKFLOW_BUNDLE: env('PUNCTUAL_TEST_BUNDLE'),
      ...opened(allowPorts),
      ...settings,
    },
  });
  t.teardown(() => killed(child));
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += String(chunk);
  });
  const logged = (message: string): Promise<void> => {
    const said = new Promise<void>((resolve, reject) => {
      const check = (): void => {
        if (output.includes(`"msg":"${message}"`)) {
          resolve();
        }
      };
      child.stdout.on('data', check);
      child.once('exit', () =>
        reject(new Error(`The worker ended before it said "${message}": ${output.slice(-5000)}`)),
      );
      check();
    });
    return within(said, () => `The worker did not say "${message}": ${output.slice(-5000)}`);
  };
  return { child, logged, output: () => output };
}

/** Sends SIGKILL, so that the worker cannot clean up. Resolves when the process has ended. */
export async function killed(worker: ChildProcess): Promise<void> {
  if (worker.exitCode === null && worker.signalCode === null) {
    const gone = once(worker, 'exit');
    worker.kill('SIGKILL');
    await gone;
  }
}

/**
 * Resolves when a process has ended in any way and its output is read.
 *
 * @throws Error after 200 s: some checks run once a minute.
 */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    await within(once(child, 'exit'), () => 'The process did not end.', 200_000);
  }

  if (child.stdout?.readableFlowing === true) {
    await finished(child.stdout);
  }
}
