import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { endProcesses, type Ending } from './processes.ts';

/** Tracks every started process, in the order in which they must end. */
export type ProcessGuard = {
  /** The process with the lowest `rank` ends first. */
  readonly watch: (ending: Ending, rank: number) => void;
  /** Ends all processes; `force` skips the grace period. @returns the names of the processes that had to be killed. */
  readonly endAll: (force?: AbortSignal) => Promise<string[]>;
};

/** Processes by rank; a rank may be empty. */
export type Watched = readonly (readonly Ending[])[];

const guardianScript = fileURLToPath(new URL('guardian.ts', import.meta.url));

/**
 * Starts to track processes. They run in process groups of their own, since Ctrl-C in a terminal would otherwise reach
 * all of them at once. So a second process ends them in case this one is killed.
 *
 * @param onChange called with all tracked processes on every change
 */
export function startGuard(onChange?: (watched: Watched) => void): ProcessGuard {
  const guardian = spawn(process.execPath, [guardianScript], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // The guardian may be killed too, which does not affect the other processes.
  guardian.on('error', () => undefined);
  guardian.stdin.on('error', () => undefined);
  guardian.unref();
  const ranks: Ending[][] = [];
  return {
    watch(ending, rank) {
      (ranks[rank] ??= []).push(ending);
      const watched = Array.from(ranks, (group) => group ?? []);
      guardian.stdin.write(`${JSON.stringify(watched)}\n`);
      onChange?.(watched);
    },
    async endAll(force) {
      const forced = await endProcesses(
        ranks.filter((group) => group.length > 0),
        force,
      );
      guardian.ref();
      guardian.stdin.end('bye\n');
      if (guardian.exitCode === null && guardian.signalCode === null) {
        await once(guardian, 'exit');
      }
      return forced;
    },
  };
}
