import type { PostMetricsRequest, PostToSync } from '../domain/to-sync.ts';
import type { RateLimits } from '../runtime/config/read-config.ts';
import type { Refusals } from '../services/channels/connect-with-secret.ts';
import type { ServiceDeps } from '../services/deps.ts';
import type { ReplayLimit } from '../services/webhooks/replay-deliveries.ts';
import type { DatabaseGate, ApiReadiness, SystemStatus } from './health/routes.ts';
import type { Admission } from './http/admission.ts';

export type ApiDeps = ServiceDeps & {
  /** Closed until the database is ready. */
  readonly gate: DatabaseGate;
  /** Syncs a committed post with Temporal in the background. The relay repeats a failed sync. */
  readonly syncPost: (post: PostToSync) => void;
  /** Starts the refresh of a post's metrics in the background. After a failure the schedule refreshes them. */
  readonly refreshPost: (request: PostMetricsRequest) => void;
  readonly readiness: () => Promise<ApiReadiness>;
  readonly status: () => Promise<SystemStatus>;
  readonly admission: Admission;
  /** Limits of each API key, in calls a minute. */
  readonly rateLimits: RateLimits;
  /** Counts refused secrets on the connect page. */
  readonly refusedSecrets: Refusals;
  readonly replays: ReplayLimit;
  /** Aborted when this process stops. Calls that wait then answer. */
  readonly stopping: AbortController;
  /** Number of trusted proxies in front of the API, for the client's address. */
  readonly trustedProxies: number;
};
