import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { withoutTemporal } from '../../scripts/parts/temporal.ts';
import { tallyCounter, type Tally } from './tally.ts';

const ava = fileURLToPath(new URL('../../node_modules/ava/entrypoints/cli.js', import.meta.url));

/** Settings of a running Punctual, which must not affect the processes that tests start. */
const foreign: ReadonlySet<string> = new Set(['DATABASE_URL', 'SECRET_KEY', 'PORT', 'HOST']);

/** Runs ava, shows its output, and counts the results. */
export async function runAva(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<{ readonly exitCode: number; readonly tally: Tally }> {
  const color = process.stdout.isTTY ? ['--color'] : [];
  const child = spawn(process.execPath, [ava, ...color, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...testEnvironment(process.env), ...env },
  });
  const counter = tallyCounter();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    process.stdout.write(text);
    counter.add(text);
  });
  const stop = () => child.kill('SIGINT');
  signal.addEventListener('abort', stop);
  if (signal.aborted) {
    stop();
  }
  const exitCode = await new Promise<number>((resolve) => {
    child.on('error', () => resolve(1));
    child.on('close', (code) => resolve(code ?? 1));
  });
  signal.removeEventListener('abort', stop);
  return { exitCode, tally: counter.result(exitCode, process.env['CI'] === 'true') };
}

/** The environment without the settings of a running Punctual. */
export function testEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isOurs = (name: string) =>
    foreign.has(name) || (name.startsWith('PUNCTUAL_') && !name.startsWith('PUNCTUAL_TEST_'));
  const kept = Object.entries(env).filter(([name]) => !isOurs(name));
  return withoutTemporal(Object.fromEntries(kept));
}
