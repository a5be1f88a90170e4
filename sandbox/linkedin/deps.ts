import type { SandboxDeps } from '../deps.ts';
import type { Uploads } from './uploads.ts';

export type LinkedinDeps = SandboxDeps & {
  readonly uploads: Uploads;
  /** The next id of a post or a comment: the time in its upper bits, and always above the last one. */
  readonly nextId: () => bigint;
};
