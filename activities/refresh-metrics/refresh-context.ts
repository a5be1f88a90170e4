import type { MetricsReader } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';

/** Context of all reads of one network. */
export type RefreshContext = {
  readonly deps: ActivityDeps;
  readonly reader: MetricsReader;
  /** Shortest interval between reads of a post, in milliseconds. */
  readonly everyMs: number;
  /** Whether the time is up and no read may begin. */
  readonly isOver: () => boolean;
  /** Aborts when the worker stops. */
  readonly stopped: AbortSignal;
  /** Timeout of one adapter call, in milliseconds. */
  readonly askTimeoutMs: number;
};
