import type { Failures } from './failures.ts';
import type { Files } from './files.ts';
import type { Store } from './store.ts';

/** What both networks share. */
export type SandboxDeps = {
  readonly store: Store;
  readonly files: Files;
  readonly failures: Failures;
  /** The clock, in milliseconds since 1970. */
  readonly now: () => number;
};
