import { fileURLToPath } from 'node:url';
import { runCommand } from '../../scripts/run-command.ts';
import type { LoadJob, LoadResult } from './load-job.ts';

const generator = fileURLToPath(new URL('generate-load.ts', import.meta.url));

/** Lets the load generator do a job. @throws Error with its last words when an answer was not as it should be. */
export async function load(job: LoadJob): Promise<LoadResult> {
  const timeoutMs = (job.seconds + 30) * 1000;
  const args = [generator, JSON.stringify(job)];
  const { ok, stdout, stderr } = await runCommand(process.execPath, args, { timeoutMs });
  if (!ok) {
    throw new Error(`The load generator ended early.\n${stderr.trim().slice(-2000)}`);
  }

  return JSON.parse(stdout) as LoadResult;
}
