import type { MetricsReader } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import type { DueRow } from './claim-due.ts';
import { moveRows } from './postpone.ts';

/** What the reads of one network share. */
export type Refreshing = {
  readonly deps: ActivityDeps;
  readonly reader: MetricsReader;
  /** Whether nothing more may be begun. */
  readonly isOver: () => boolean;
  /** Aborts when the worker stops. */
  readonly stopped: AbortSignal;
  /** For one call of an adapter, in milliseconds. */
  readonly askTimeoutMs: number;
};

/** Gives claimed rows one time. @param lease Theirs. */
export const moveTo = (
  { orm }: Pick<ActivityDeps, 'orm'>,
  rows: readonly DueRow[],
  lease: Date,
  nextAt: Date,
): Promise<void> =>
  moveRows(
    orm.em.fork(),
    rows.map((row) => ({ ...row, nextAt })),
    lease,
  );
