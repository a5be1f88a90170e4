import type { SandboxDeps } from '../deps.ts';
import type { Uploads } from './uploads.ts';

export type LinkedinDeps = SandboxDeps & {
  readonly uploads: Uploads;
  /** Returns the next id of a post or a comment: ascending, with the time in the upper bits. */
  readonly nextId: () => bigint;
};
