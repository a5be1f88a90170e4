import type { MetricsReader } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';

/** What the reads of one network share. */
export type Refreshing = {
  readonly deps: ActivityDeps;
  readonly reader: MetricsReader;
  /** How far apart reads of a post are at least, in milliseconds. */
  readonly everyMs: number;
  /** Whether nothing more may be begun. */
  readonly isOver: () => boolean;
  /** Aborts when the worker stops. */
  readonly stopped: AbortSignal;
  /** For one call of an adapter, in milliseconds. */
  readonly askTimeoutMs: number;
};
