import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../run-command.ts';

/** Higher than any process number that a system gives out. */
const nobodyPid = '99999999';

/**
 * Lets PostgreSQL start where another process has been given the number of one that was killed, as after a restart
 * of a container. It compares nothing but the number, and would refuse for as long as that other process lives.
 *
 * The rest of its lock file stays, since by it PostgreSQL makes sure that no child of the killed one is left.
 */
export async function forgetStalePid(cluster: string): Promise<void> {
  const file = path.join(cluster, 'postmaster.pid');
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) {
    return;
  }

  const [pid = '', ...rest] = text.split('\n');
  const command = await commandLine(Number(pid));
  if (command !== undefined && !command.includes('postgres')) {
    await writeFile(file, [nobodyPid, ...rest].join('\n'));
  }
}

/** Undefined when nothing runs under that number, or it cannot be told what. */
async function commandLine(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined);
  }

  const { ok, stdout } = await runCommand('ps', ['-o', 'command=', '-p', String(pid)]);
  return ok ? stdout : undefined;
}
