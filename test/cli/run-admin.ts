import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));

export type AdminRun = {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

/** Runs what `npm run admin -- …` runs, with these settings and no other of ours. */
export async function runAdmin(
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
): Promise<AdminRun> {
  const child = spawn(process.execPath, [main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], ...settings },
  });
  const exited = once(child, 'exit');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await exited;
  return { code: child.exitCode, stdout, stderr };
}
