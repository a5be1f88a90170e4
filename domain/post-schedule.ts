/** When a workflow asks the database for its post, and the highest revision that it knows. */
export type PostSchedule = {
  readonly revision: number;
  /** In milliseconds since 1970; 0 for at once. */
  readonly dueAtMs: number;
};

/** After a signal. The highest revision wins, in any order of arrival. */
export const signalled = (known: PostSchedule, signal: PostSchedule): PostSchedule =>
  signal.revision > known.revision ? signal : known;

/** A cancel: the database says what is left to do. */
export const cancelled = (known: PostSchedule, revision: number): PostSchedule =>
  signalled(known, { revision, dueAtMs: 0 });

/**
 * After a claim. The database decides, also with a lower revision, which it has after a restore. A signal that arrived
 * since `before`, during the claim, stays if it is newer.
 */
export const claimed = (
  known: PostSchedule,
  before: PostSchedule,
  found: PostSchedule,
): PostSchedule => (known === before || found.revision > known.revision ? found : known);

/** After an interrupted publishing: the database is asked at once, whatever time a signal gave. */
export const interrupted = ({ revision }: PostSchedule): PostSchedule => ({ revision, dueAtMs: 0 });
