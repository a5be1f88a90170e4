import type { SandboxDeps } from '../deps.ts';
import type { Signer } from '../orders.ts';
import type { SessionTokens } from './sessions.ts';
import type { ServiceTokens } from './video/service-tokens.ts';
import type { VideoJobs } from './video/video-jobs.ts';

export type BlueskyDeps = SandboxDeps & {
  readonly tokens: SessionTokens;
  readonly serviceTokens: ServiceTokens;
  readonly jobs: VideoJobs;
  /** The DID of the server that received the request. */
  readonly serverDid: string;
  readonly query: URLSearchParams;
  /** The account of the request; the demo account for calls without authentication. */
  readonly by: Signer;
  /** Makes a new record key or revision. */
  readonly nextTid: () => string;
};
