import { sql, type RawBuilder } from 'kysely';
import { isOpenChannel, publishingValues } from '../../db/channel-status.ts';
import { dueAt } from '../../db/post-columns.ts';
import {
  countingRows,
  entriesOf,
  type LedgerEntry,
  type EntryRow,
} from '../../db/ledger/entries.ts';
import { isLimited, limitJoins } from '../../db/network-limits.ts';
import { query } from '../../db/query.ts';
import { lateAfterMs } from '../../domain/pacing.ts';
import { isFinal } from '../../domain/post-status.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishJob, PublishRequest } from './job.ts';
import { jobOf, selectJob, type JobRow } from './load-job.ts';
import { createServerSlots, takeServerSlot } from './server-slots.ts';

/**
 * An attempt starts in one of two ways: with the statement that reads its job, the usual case, or with its own
 * statement after a wait. Both set the channel to `publishingValues` if the post is unchanged since it was read.
 *
 * From that moment a cancel lets the channel finish. No attempt starts for a post that is not publishing: it was
 * cancelled, or it waits for another time.
 */

/**
 * SQL, part `post` of a statement: the post if it has this status, locked before its channel. Without the lock, a
 * statement that waits for the channel would combine the new channel with the old post, which may have been cancelled,
 * edited and scheduled again meanwhile.
 */
export const lockedPost = (
  { workspaceId, postId }: PublishRequest,
  status: 'publishing' | 'draft',
  revision?: number,
) => sql`post as materialized (
  select id, ${dueAt()} as due_at, xmin::text as version from posts
  where id = ${postId} and workspace_id = ${workspaceId} and status = ${status}
    ${revision === undefined ? sql`` : sql`and revision = ${revision}`} for share)`;

/** Status of a post whose channel may start: `draft` if a cancelled channel has to finish. */
export const startableStatus = ({ isFinishing }: PublishJob): 'publishing' | 'draft' =>
  isFinishing ? 'draft' : 'publishing';

/** SQL, part `started` of a statement after `post`: the update that both ways share. */
const startedChannel = (
  { workspaceId, postChannelId }: PublishRequest,
  { from, where }: { readonly from: RawBuilder<unknown>; readonly where: RawBuilder<unknown> },
) => sql`started as (
  update post_channels pc set ${publishingValues} from post p ${from}
  where pc.id = ${postChannelId} and pc.workspace_id = ${workspaceId} and pc.post_id = p.id and ${isOpenChannel} ${where}
  returning pc.id)`;

/**
 * Reads the job. If the post is on time, its server has a slot and no rate limit is in force, the same statement starts
 * the attempt. A caller that gets a job with a slot has to release the slot.
 *
 * @returns null if the post or the channel does not exist.
 */
export async function loadAndStartPublish(
  deps: ActivityDeps,
  request: PublishRequest,
): Promise<PublishJob | null> {
  const row = await readAndStart(deps, request);
  if (!row || row.has_slots || isFinal(row.status)) {
    return row ? jobOf(deps, request, row) : null;
  }

  await createServerSlots(deps, request);
  const again = await readAndStart(deps, request);
  return again ? jobOf(deps, request, again) : null;
}

/**
 * Starts nothing if the post changed while the statement waited for a lock (`xmin` is the row's version). Every edit of
 * a channel's content, and a disconnection, also changes the post.
 */
async function readAndStart(
  deps: ActivityDeps,
  request: PublishRequest,
): Promise<JobRow | undefined> {
  const { workspaceId, postId } = request;
  const now = deps.now();
  const onTimeSince = new Date(now.getTime() - lateAfterMs);
  const started = startedChannel(request, {
    from: sql`, seen, channels c ${limitJoins}`,
    where: sql`and p.version = seen.version and p.due_at >= ${onTimeSince}
      and c.id = pc.channel_id and c.workspace_id = pc.workspace_id and c.disconnected_at is null and not ${isLimited(now)}
      and exists (select 1 from slot)`,
  });
  const [row] = await query(
    deps.orm.em.fork(),
    sql<JobRow>`
      with ${takeServerSlot(request, now)},
      seen as materialized (
        select xmin::text as version from posts where id = ${postId} and workspace_id = ${workspaceId}),
      ${lockedPost(request, 'publishing')},
      ${started}
      ${selectJob(request)}`,
  );
  return row;
}

/** An empty ledger is one row without an entry. */
type Row = EntryRow | { readonly id: null };

/**
 * Starts an attempt that {@link loadAndStartPublish} did not start. The revision check keeps content older than the newest
 * edit from being sent.
 *
 * @returns the ledger at that moment, or null if the attempt must not start. Another attempt may write to the ledger at
 * any time, so every later write checks again.
 */
export async function startAttempt(
  deps: ActivityDeps,
  job: PublishJob,
): Promise<readonly LedgerEntry[] | null> {
  if (job.startedWith) {
    return job.startedWith;
  }

  const rows = await query(
    deps.orm.em.fork(),
    sql<Row>`
      with ${lockedPost(job, startableStatus(job), job.revision)},
      ${startedChannel(job, { from: sql``, where: sql`` })}
      select ledger.* from started left join (${countingRows(job, job.run)}) ledger on true order by ledger.part`,
  );
  const entries = rows.filter((row): row is EntryRow => row.id !== null);
  return rows.length === 0 ? null : entriesOf(job, entries);
}
