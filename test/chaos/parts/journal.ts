import type { Fault } from '../plan/faults.ts';

/** Records what happened to each post, to explain violations, and how often each fault was applied. */
export type Journal = {
  /** Since the start of the run, in milliseconds. */
  readonly elapsedMs: () => number;
  /** @param subject A post's marker, or '' for an event that affects all posts. */
  note(subject: string, what: string): void;
  /** @param id The id of the planned fault, if it has one. */
  injected(fault: Fault, id?: string): void;
  /** Records a fault that affects all posts. */
  disturbed(): void;
  /** When such faults came, in milliseconds since 1970. */
  readonly disturbances: readonly number[];
  /** When worker processes were suspended, in milliseconds since 1970. */
  readonly pauses: { readonly fromMs: number; untilMs: number }[];
  /** In milliseconds since 1970. */
  readonly restores: { readonly backupAtMs: number; readonly restoredAtMs: number }[];
  readonly cameAbout: (id: string) => boolean;
  readonly countOf: (fault: Fault) => number;
  /** The lines about a post and about all posts, oldest first. */
  storyOf(subject: string): string[];
};

type Line = { readonly atMs: number; readonly subject: string; readonly what: string };

/** @param startMs The start of the run in milliseconds since 1970, which is known once everything runs. */
export function openJournal(startMs: () => number): Journal {
  const lines: Line[] = [];
  const counts = new Map<Fault, number>();
  const ids = new Set<string>();
  const disturbances: number[] = [];
  const elapsedMs = () => Date.now() - startMs();
  return {
    elapsedMs,
    note: (subject, what) => lines.push({ atMs: elapsedMs(), subject, what }),
    injected: (fault, id = '') => {
      counts.set(fault, (counts.get(fault) ?? 0) + 1);
      ids.add(id);
    },
    disturbed: () => disturbances.push(Date.now()),
    disturbances,
    pauses: [],
    restores: [],
    cameAbout: (id) => ids.has(id),
    countOf: (fault) => counts.get(fault) ?? 0,
    storyOf: (subject) =>
      lines
        .filter((line) => line.subject === subject || line.subject === '')
        .map(({ atMs, what }) => `${(atMs / 1000).toFixed(3).padStart(9)} s  ${what}`),
  };
}
