import type { SandboxDeps } from '../deps.ts';
import type { Tokens } from './sessions.ts';

export type BlueskyDeps = SandboxDeps & {
  readonly tokens: Tokens;
  /** Makes a new record key or revision. */
  readonly nextTid: () => string;
};
