import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { freePort } from '../../support/free-port.ts';

const main = fileURLToPath(new URL('../../../api/main.ts', import.meta.url));

export type ApiProcess = {
  /** Without a trailing slash. */
  readonly url: string;
  readonly child: ChildProcess;
  /** All that it logged so far. */
  readonly log: () => string;
};

/** Starts `api/main.ts` as operators do, and waits until it listens. The test's end stops it. */
export async function startApiProcess(
  t: ExecutionContext,
  settings: Readonly<Record<string, string>>,
): Promise<ApiProcess> {
  const port = String(await freePort());
  const child = spawn(process.execPath, [main], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, LOG_LEVEL: 'info', ...settings, HOST: '127.0.0.1', PORT: port },
  });
  const gone = once(child, 'exit');
  t.teardown(async () => {
    child.kill();
    await gone;
  });

  let output = '';
  const listens = new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString('utf8');
      if (output.includes('"msg":"listening"')) {
        resolve();
      }
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    void gone.then(() => reject(new Error(`The API ended: ${output.slice(-2000)}`)));
  });
  await listens;
  return { url: `http://127.0.0.1:${port}`, child, log: () => output };
}
