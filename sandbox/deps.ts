import type { FigureBook } from './figures.ts';
import type { Files } from './files.ts';
import type { Codes } from './oauth/codes.ts';
import type { Grants } from './oauth/grants.ts';
import type { Script } from './script.ts';
import type { Store } from './store.ts';

/** Shared by all networks. */
export type SandboxDeps = {
  readonly store: Store;
  readonly files: Files;
  readonly script: Script;
  readonly figures: FigureBook;
  readonly grants: Grants;
  readonly codes: Codes;
  /** The clock, in milliseconds since 1970. */
  readonly now: () => number;
};
