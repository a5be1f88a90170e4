/** Result of a refresh. Counts posts per channel. */
export type RefreshCounts = {
  /** Metrics were read and stored. */
  readonly read: number;
  /** The network says that the post no longer exists. */
  readonly gone: number;
  /** Not readable now: a rate limit, a channel without access, or a network that is read less often. */
  readonly postponed: number;
  /** The network returned no metrics. They are read again later. */
  readonly failed: number;
  /** Due, but the time was up. */
  readonly left: number;
};

export const noCounts: RefreshCounts = { read: 0, gone: 0, postponed: 0, failed: 0, left: 0 };

export const addCounts = (a: RefreshCounts, b: Partial<RefreshCounts>): RefreshCounts => ({
  read: a.read + (b.read ?? 0),
  gone: a.gone + (b.gone ?? 0),
  postponed: a.postponed + (b.postponed ?? 0),
  failed: a.failed + (b.failed ?? 0),
  left: a.left + (b.left ?? 0),
});
