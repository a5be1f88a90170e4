import { setTimeout as sleep } from 'node:timers/promises';
import { processIdentity } from './process-identity.ts';

/** A process that is to end, and how. */
export type Ending = {
  readonly name: string;
  readonly pid: number;
  /** What it was when it was started, so that a later process of the same number is left alone. */
  readonly identity: string;
  /** The signal at which it ends cleanly. */
  readonly signal: 'SIGTERM' | 'SIGINT';
  /** Milliseconds until it is ended by force. */
  readonly graceMs: number;
};

/**
 * Ends processes group by group, each only when the group before is gone: a database must outlive those who use it.
 *
 * @returns the names of those that had to be ended by force
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
    // It ended in this moment.
  }
}
