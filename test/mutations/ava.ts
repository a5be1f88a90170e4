import { spawn } from 'node:child_process';
import path from 'node:path';

/** Where and with what tests run. */
export type Bench = {
  /** The root of the copied tree. */
  readonly tree: string;
  /** The services that tests share, as `test/support/run.ts` hands them over. */
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
};

/** Longer than any selection of tests takes, in milliseconds: a mutation may make the product wait for ever. */
const timeoutMs = 15 * 60_000;

/** Stands for a title where no test was named. */
const timedOut = `nothing failed within ${timeoutMs / 60_000} min`;

/**
 * Runs test files.
 *
 * @returns the titles of the tests that failed, as ava prints them in TAP; what ended a file without a title is one too.
 */
export async function failuresOf(
  { tree, env, signal }: Bench,
  testFiles: readonly string[],
  ...options: readonly string[]
): Promise<string[]> {
  const ava = path.join(tree, 'node_modules/ava/entrypoints/cli.js');
  const child = spawn(process.execPath, [ava, '--tap', ...options, ...testFiles], {
    cwd: tree,
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const either = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const stop = () => child.kill('SIGINT'); // ava ends its processes then.
  either.addEventListener('abort', stop);
  const exitCode = await new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
  either.removeEventListener('abort', stop);
  signal.throwIfAborted();
  const failures = [...output.matchAll(/^not ok \d+ - (?<title>.*)$/gmv)].map(
    ({ groups }) => groups?.['title'] ?? '',
  );
  const unnamed = either.aborted ? timedOut : `ava ended with ${exitCode}`;
  return failures.length > 0 || exitCode === 0 ? failures : [unnamed];
}
