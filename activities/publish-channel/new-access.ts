import { sql } from 'kysely';
import { query } from '../../db/query.ts';
import type { NextTry } from '../../domain/next-try.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishFailure } from './classify-error.ts';
import type { PublishJob } from './job.ts';

/** In milliseconds; more than nothing, so that accounts which are connected and refused in turns make no loop. */
const newAccessWaitMs = 1000;

/** What follows where a try failed for an access that the channel no longer has. */
export const withNewAccess = (
  deps: ActivityDeps,
  message: string,
): { readonly failure: PublishFailure; readonly next: NextTry } => ({
  failure: { code: 'network_unavailable', message, limit: 'channel' },
  next: { kind: 'retry', atMs: deps.now().getTime() + newAccessWaitMs, counts: false },
});

/** Deliveries about this channel that no attempt was made of yet: a try that lost its result finds them here. */
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
