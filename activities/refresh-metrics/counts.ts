/** What a refresh did, in posts on channels. */
export type RefreshCounts = {
  /** Whose figures were read and recorded. */
  readonly read: number;
  /** Of which the network says that they are not there any more. */
  readonly gone: number;
  /** That cannot be read now: a limit, a channel without access, a network that is read less often. */
  readonly postponed: number;
  /** That the network did not tell of. They are asked for again. */
  readonly failed: number;
  /** Due, and not come to in time. */
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
