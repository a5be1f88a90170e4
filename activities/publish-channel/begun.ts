import { activityInfo, heartbeat } from '@temporalio/activity';
import { sql } from 'kysely';
import { isUnderWay } from '../../db/channel-status.ts';
import { dueAt, isOpenPost } from '../../db/post-status.ts';
import { query } from '../../db/query.ts';
import { markDatabaseOlder, restoredDatabase } from '../../db/restore-counter.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishJob } from './job.ts';

/**
 * What Temporal keeps of a channel's earlier attempts in the details of their heartbeats: the ledger entry that they
 * stored before they sent something. An attempt that ends within 5 s records none.
 */
export type Begun = { entry: string | undefined };

/**
 * Reads what the earlier attempts recorded and checks that the database still has it, because entries stay as long as
 * their channel. Without the entry, this attempt would send the post again.
 *
 * @throws Error if the database is older.
 */
export async function readBegun(deps: ActivityDeps, job: PublishJob): Promise<Begun> {
  const { entry } = (activityInfo().heartbeatDetails ?? {}) as { readonly entry?: unknown };
  if (typeof entry !== 'string') {
    return { entry: undefined };
  }

  await assertNotOlder(deps, job, entry);
  return { entry };
}

/** Keeps the entry in the heartbeat of a failing attempt, for the next one. */
export function keepBegun(begun: Begun): void {
  if (begun.entry !== undefined) {
    heartbeat(begun);
  }
}

async function assertNotOlder(
  { orm }: ActivityDeps,
  { workspaceId, postId, postChannelId }: PublishJob,
  entry: string,
): Promise<void> {
  const em = orm.em.fork();
  const lost = await query(
    em,
    sql<{ now: Date }>`select now() as now from posts p
      join post_channels pc on pc.post_id = p.id and pc.workspace_id = p.workspace_id
      where pc.id = ${postChannelId} and pc.workspace_id = ${workspaceId}
        and (${isUnderWay} or (${isOpenPost('p')} and ${dueAt('p')} <= now()))
        and not exists (select from post_parts a where a.id = ${entry} and a.workspace_id = ${workspaceId})`,
  );
  if (lost[0]) {
    await markDatabaseOlder(em, lost[0].now);
    throw new Error(`An attempt has begun to send the post ${postId}. ${restoredDatabase}`);
  }
}
