import type { Failures } from './failures.ts';
import type { Store } from './store.ts';

/** What both networks share. */
export type SandboxDeps = {
  readonly store: Store;
  readonly failures: Failures;
  /** The clock, in milliseconds since 1970. */
  readonly now: () => number;
};
