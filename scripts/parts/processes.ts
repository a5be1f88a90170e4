import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../run-command.ts';

/** A process to end, and how. */
export type Ending = {
  readonly name: string;
  readonly pid: number;
  /** Distinguishes it from a later process with the same id. */
  readonly identity: string;
  /** The signal for a clean end. */
  readonly signal: 'SIGTERM' | 'SIGINT';
  /** Time until it is killed, in milliseconds. */
  readonly graceMs: number;
};

/**
 * Ends processes group by group, each after the previous group has ended: a database must outlive its users.
 *
 * @returns the names of the processes that had to be killed
 */
export async function endProcesses(
  groups: readonly (readonly Ending[])[],
  force?: AbortSignal,
): Promise<string[]> {
  const forced: string[] = [];
  for (const group of groups) {
    await Promise.all(
      group.map(async (ending) => {
        if (!(await endProcess(ending, force))) {
          forced.push(ending.name);
        }
      }),
    );
  }
  return forced;
}

async function endProcess(ending: Ending, force: AbortSignal | undefined): Promise<boolean> {
  const { pid, identity, signal, graceMs } = ending;
  const runs = async () => (await processIdentity(pid)) === identity;
  if (!(await runs())) {
    return true;
  }

  send(pid, signal);
  const deadline = Date.now() + graceMs;
  while (await runs()) {
    if (Date.now() > deadline || force?.aborted) {
      return kill(pid, runs);
    }

    await sleep(25);
  }
  return true;
}

async function kill(pid: number, runs: () => Promise<boolean>): Promise<false> {
  send(pid, 'SIGKILL');
  while (await runs()) {
    await sleep(25);
  }
  return false;
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has just ended.
  }
}

/**
 * Distinguishes a process from a later one with the same id, by its start time. Undefined when it does not run, or has
 * ended and is a zombie.
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
    // A zombie's last thread may still run and hold its ports, so threads are counted. The name in parentheses may
    // contain anything, so fields are counted after it: the state first, the start time in clock ticks since boot as
    // the twentieth (proc_pid_stat(5)).
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
