import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';

const main = path.join(import.meta.dirname, '../../cli/main.ts');

export type Run = {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

/** Runs `punctual …` without a terminal, with these settings only. */
export async function runPunctual(
  words: readonly string[],
  settings: Readonly<Record<string, string>> = {},
  input: string | Uint8Array = '',
): Promise<Run> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [main, ...words], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH, NODE_COMPILE_CACHE, TZ: 'UTC', XDG_CONFIG_HOME: '/nowhere', ...settings },
  });
  const closed = once(child, 'close');
  child.stdin.on('error', () => undefined); // It may end before it reads.
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await closed;
  return { code: child.exitCode, stdout, stderr };
}
