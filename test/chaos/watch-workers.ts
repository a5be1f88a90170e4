import { setTimeout as sleep } from 'node:timers/promises';
import type { Cues } from './parts/cues.ts';
import type { Journal } from './parts/journal.ts';
import { factsOf, platforms } from './plan/platforms.ts';
import { grantWish, takeDeaths, takeWishes, type Wish } from './parts/traps.ts';

export type Watched = {
  readonly folder: string;
  readonly journal: Journal;
  readonly cues: Cues;
  /** @returns whether the workflow was running. */
  readonly terminate: (workflowId: string) => Promise<boolean>;
};

/** In milliseconds. Short, because a worker waits at its point for its request. */
const pollIntervalMs = 10;

/**
 * How long a worker is suspended, in milliseconds. On networks where the next attempt may send again after a minute,
 * until that has passed; while another worker is suspended, only until its intent has expired.
 */
const suspendedMs = { longest: 70_000, other: 25_000, second: 12_000 };
const waitsAMinute: ReadonlySet<string> = new Set(
  platforms.filter((platform) => factsOf(platform).resendsAfterAMinute),
);

/** Watches the workers: records their deaths, resumes suspended ones, and fulfils their requests. */
export function watchWorkers(watched: Watched): { poll(): void; close(): void } {
  const { folder, journal } = watched;
  const stopped = new Set<number>();
  const goOn = (pid: number, marker: string): void => {
    if (stopped.delete(pid)) {
      continueProcess(pid);
      journal.note(marker, 'the worker resumes');
    }
  };
  const look = (): void => {
    for (const { fault, marker, id, stopped: halted } of takeDeaths(folder)) {
      journal.injected(fault, id);
      journal.disturbed();
      journal.note(marker, `${fault}, as planned`);
      if (halted) {
        const alone = waitsAMinute.has(halted.platform) ? suspendedMs.longest : suspendedMs.other;
        const forMs = stopped.size > 0 ? suspendedMs.second : alone;
        stopped.add(halted.pid);
        journal.pauses.push({ fromMs: Date.now() - 1000, untilMs: Date.now() + forMs });
        void sleep(forMs).then(() => goOn(halted.pid, marker));
      }
    }
    for (const wish of takeWishes(folder)) {
      void grant(watched, wish);
    }
  };
  const timer = setInterval(look, pollIntervalMs);
  return {
    poll: look,
    close: () => {
      clearInterval(timer);
      look();
      for (const pid of stopped) {
        goOn(pid, '');
      }
    },
  };
}

async function grant({ folder, journal, cues, terminate }: Watched, wish: Wish): Promise<void> {
  if (wish.kind === 'change') {
    if (await cues.give(wish.marker)) {
      journal.injected('cancelled as a late attempt begins', wish.id);
    }

    return;
  }

  if (await terminate(wish.workflowId)) {
    journal.injected('terminated in finalize', wish.id);
    journal.note('', `${wish.workflowId} is terminated in finalize`);
  }
  grantWish(folder, wish);
}

/** Resumes a process, unless it was killed meanwhile. */
function continueProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT');
  } catch {
    // The process has ended.
  }
}
