import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { poll } from './poll.ts';
import { mediaDirOf } from './media-dirs.ts';
import { within } from './within.ts';

const main = fileURLToPath(new URL('../../api/main.ts', import.meta.url));

export type ApiProcess = {
  /** Without a trailing slash. */
  readonly url: string;
  readonly child: ChildProcess;
  /** Everything that it has logged so far. */
  readonly log: () => string;
};

/**
 * Starts `api/main.ts` as operators do, and waits until it listens. The test's end stops it.
 *
 * @param wrapper A program with arguments that starts the rest of its command line.
 */
export async function startApiProcess(
  t: ExecutionContext,
  settings: Readonly<Record<string, string>>,
  wrapper: readonly string[] = [],
): Promise<ApiProcess> {
  const [program = '', ...args] = [...wrapper, process.execPath, main];
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      LOG_LEVEL: 'info',
      PUNCTUAL_MEDIA_DIR: mediaDirOf(settings['DATABASE_URL'] ?? ''),
      PUNCTUAL_RATE_LIMIT: '100000',
      PUNCTUAL_RATE_LIMIT_WRITES: '100000',
      ...settings,
      HOST: '127.0.0.1',
      PORT: '0',
    },
  });
  const gone = once(child, 'exit');
  t.teardown(async () => {
    child.kill();
    await gone;
  });

  let output = '';
  const listening = new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString('utf8');
      const [, address] = /"address":"([^"]+)","msg":"listening"/v.exec(output) ?? [];
      if (address !== undefined) {
        resolve(address);
      }
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    void gone.then(() => reject(new Error(`The API ended: ${output.slice(-2000)}`)));
  });
  const url = await within(listening, () => `The API does not listen: ${output.slice(-2000)}`);
  return { url, child, log: () => output };
}

/** Also waits until the API has prepared the database. Until then it answers 503 to every call and counts none. */
export async function startReadyApi(
  ...given: Parameters<typeof startApiProcess>
): Promise<ApiProcess> {
  const api = await startApiProcess(...given);
  await poll(api.log, (text) => text.includes('"msg":"the database is ready"'));
  return api;
}
