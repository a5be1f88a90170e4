import type { SandboxDeps } from '../deps.ts';
import type { Signer } from '../orders.ts';
import type { Tokens } from './sessions.ts';
import type { ServiceTokens } from './video/service-tokens.ts';
import type { VideoJobs } from './video/video-jobs.ts';

export type BlueskyDeps = SandboxDeps & {
  readonly tokens: Tokens;
  readonly serviceTokens: ServiceTokens;
  readonly jobs: VideoJobs;
  /** Of the server that the request came to. */
  readonly serverDid: string;
  readonly query: URLSearchParams;
  /** Whose request it is; the demo account's where nobody has to say. */
  readonly by: Signer;
  /** Makes a new record key or revision. */
  readonly nextTid: () => string;
};
