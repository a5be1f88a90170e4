import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { endProcesses, type Ending } from './processes.ts';

/** Knows every process that was started, in the order in which they must end. */
export type Guard = {
  /** `rank` orders the end: the lowest first. */
  readonly watch: (ending: Ending, rank: number) => void;
  /** Ends all of them. `force` makes it quick. @returns the names of those that had to be ended by force. */
  readonly endAll: (force?: AbortSignal) => Promise<string[]>;
};

/** Processes by rank; a rank may be empty. */
export type Watched = readonly (readonly Ending[])[];

const guardianScript = fileURLToPath(new URL('guardian.ts', import.meta.url));

/**
 * Starts the watch over processes. They run in groups of their own, since a terminal's Ctrl-C would otherwise reach
 * all of them at once and in no order; so a second process ends them in case this one is killed.
 *
 * @param onChange called with everything that is watched, whenever that changes
 */
export function startGuard(onChange?: (watched: Watched) => void): Guard {
  const guardian = spawn(process.execPath, [guardianScript], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // It may be killed too. Then nothing is left to clean up, which is no reason to stop.
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
