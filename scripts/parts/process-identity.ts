import { readdirSync, readFileSync } from 'node:fs';
import { runCommand } from '../run-command.ts';

/**
 * What tells a process from a later one that was given the same number: when it started. Undefined when no such
 * process runs, or one that has ended and only waits for its parent to notice.
 */
export async function processIdentity(pid: number): Promise<string | undefined> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code !== 'EPERM') {
      return undefined;
    }
  }

  return process.platform === 'linux' ? fromProc(pid) : fromPs(pid);
}

function fromProc(pid: number): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // A zombie has ended, but not before the last of its threads: until then it holds its ports.
    // The name in parentheses may hold anything, so fields are counted from behind it: state first, the start
    // time in clock ticks since boot as the twentieth (proc_pid_stat(5)).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const isOver = fields[0] === 'Z' && readdirSync(`/proc/${pid}/task`).length <= 1;
    return isOver ? undefined : `${boot} ${fields[19]}`;
  } catch {
    return undefined;
  }
}

async function fromPs(pid: number): Promise<string | undefined> {
  const { stdout } = await runCommand('ps', ['-o', 'lstart=', '-p', String(pid)]);
  return stdout.trim() || undefined;
}
