import type { SandboxDeps } from '../deps.ts';
import type { Signer } from '../orders.ts';
import type { Tokens } from './sessions.ts';

export type BlueskyDeps = SandboxDeps & {
  readonly tokens: Tokens;
  /** Whose request it is; the demo account's where nobody has to say. */
  readonly by: Signer;
  /** Makes a new record key or revision. */
  readonly nextTid: () => string;
};
