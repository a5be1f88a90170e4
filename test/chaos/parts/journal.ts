import type { Fault } from '../plan/faults.ts';

/** What happened to which post, so that a violation can be explained; and how often each fault came about. */
export type Journal = {
  /** In milliseconds from the start of the run. */
  readonly elapsedMs: () => number;
  /** @param subject A post's marker, or '' for what concerns everybody. */
  note(subject: string, what: string): void;
  /** @param id Of the planned fault, where it was planned for a post or as a trap. */
  injected(fault: Fault, id?: string): void;
  /** Something befalls everybody just now. */
  disturbed(): void;
  /** When that was, in milliseconds since 1970. */
  readonly disturbances: readonly number[];
  /** Worker processes stood still, from and until when in milliseconds since 1970. */
  readonly pauses: { readonly fromMs: number; untilMs: number }[];
  /** In milliseconds since 1970. */
  readonly restores: { readonly backupAtMs: number; readonly restoredAtMs: number }[];
  readonly cameAbout: (id: string) => boolean;
  readonly countOf: (fault: Fault) => number;
  /** Lines about a post and about everybody, in order of time. */
  storyOf(subject: string): string[];
};

type Line = { readonly atMs: number; readonly subject: string; readonly what: string };

/** @param startMs The start of the run, in milliseconds since 1970. It is known only when everything runs. */
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
