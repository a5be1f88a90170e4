import { sql } from 'kysely';
import { query } from '../../db/query.ts';
import type { NextAttempt } from '../../domain/next-attempt.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishFailure } from './classify-error.ts';
import type { PublishJob } from './job.ts';

/** In milliseconds. Greater than 0, so that alternating reconnects and refusals do not make a busy loop. */
const newAccessWaitMs = 1000;

/** Failure and retry for an attempt whose access the channel no longer uses. Not counted as an attempt. */
export const retryWithNewAccess = (
  deps: ActivityDeps,
  message: string,
): { readonly failure: PublishFailure; readonly next: NextAttempt } => ({
  failure: { code: 'network_unavailable', message, limit: 'channel' },
  next: { kind: 'retry', atMs: deps.now().getTime() + newAccessWaitMs, counts: false },
});

/**
 * Deliveries of this channel without an attempt yet. An execution whose result was lost returns them again, so that
 * their workflows start.
 */
export async function waitingReconnectDeliveries(
  deps: ActivityDeps,
  { workspaceId, channelId }: PublishJob,
): Promise<string[]> {
  const rows = await query(
    deps.orm.em.fork(),
    sql<{ id: string }>`
      select d.id from deliveries d join events e on e.id = d.event_id and e.workspace_id = d.workspace_id
      where e.channel_id = ${channelId} and d.workspace_id = ${workspaceId} and d.status = 'pending'
        and not exists (select 1 from delivery_attempts a where a.delivery_id = d.id)`,
  );
  return rows.map(({ id }) => id);
}
