/** Rows that Temporal did not take. Each is left alone for a while, so that it holds up no other. */
export type HeldBack = {
  /** Those whose wait is not over. */
  readonly ids: () => string[];
  /** @param why `refused`: it is this row that Temporal does not take. `away`: it may be Temporal. */
  readonly add: (id: string, why: 'refused' | 'away') => void;
  readonly release: (id: string) => void;
};

/** In milliseconds. After an outage nothing waits longer than the shortest of them. */
const firstWaitMs = 1000;
const longestWaitMs = 60_000;

/** How many rows are remembered; what is beyond is told of as if it never failed. */
const maxRows = 10_000;

/** @param now A clock in milliseconds. */
export function heldBackRows(now: () => number = Date.now): HeldBack {
  const rows = new Map<string, { readonly untilMs: number; readonly waitMs: number }>();
  return {
    ids: () => [...rows].flatMap(([id, { untilMs }]) => (untilMs > now() ? [id] : [])),
    add: (id, why) => {
      const before = rows.get(id)?.waitMs ?? firstWaitMs / 2;
      const waitMs = why === 'away' ? firstWaitMs : Math.min(before * 2, longestWaitMs);
      rows.delete(id);
      rows.set(id, { untilMs: now() + waitMs, waitMs });
      const [oldest] = rows.keys();
      if (rows.size > maxRows && oldest !== undefined) {
        rows.delete(oldest);
      }
    },
    release: (id) => void rows.delete(id),
  };
}
