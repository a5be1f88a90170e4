import { sql, type RawBuilder } from 'kysely';
import { isOpenChannel, publishing } from '../../db/channel-status.ts';
import { dueAt } from '../../db/post-columns.ts';
import { countingRows, entriesOf, type Entry, type EntryRow } from '../../db/ledger/entries.ts';
import { isLimited, limitJoins } from '../../db/network-limits.ts';
import { query } from '../../db/query.ts';
import { lateAfterMs } from '../../domain/pacing.ts';
import { isFinal } from '../../domain/post-status.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishJob, PublishRequest } from './job.ts';
import { jobOf, selectJob, type JobRow } from './load-job.ts';
import { makeSlots, takeSlot } from './server-slots.ts';

/**
 * A try starts by one of two ways: with the statement that reads its job, which is what nearly all do, or by a statement
 * of its own after it had to wait. Both put the channel to `publishing` while the post is what was read.
 *
 * That is the moment from which a cancel lets the channel finish. A channel of a post that is not publishing (any more) is
 * not tried: it was cancelled, or it waits for another time.
 */

/**
 * Part of a statement, as `post`: the post while its status is this, locked before its channel. Without the lock, a
 * statement that waits for the channel would go by the channel as it is then and by the post as it was before: by a
 * post that was cancelled, edited and scheduled anew meanwhile.
 */
export const lockedPost = (
  { workspaceId, postId }: PublishRequest,
  status: 'publishing' | 'draft',
  revision?: number,
) => sql`post as materialized (
  select id, ${dueAt()} as due_at, xmin::text as version from posts
  where id = ${postId} and workspace_id = ${workspaceId} and status = ${status}
    ${revision === undefined ? sql`` : sql`and revision = ${revision}`} for share)`;

/** What a post is whose channel is tried: a cancel lets finish what was being sent. */
export const statusOf = ({ isFinishing }: PublishJob): 'publishing' | 'draft' =>
  isFinishing ? 'draft' : 'publishing';

/** Part of a statement after `post`, as `started`: what both ways write, and of which channel. */
const startedChannel = (
  { workspaceId, postChannelId }: PublishRequest,
  { from, where }: { readonly from: RawBuilder<unknown>; readonly where: RawBuilder<unknown> },
) => sql`started as (
  update post_channels pc set ${publishing} from post p ${from}
  where pc.id = ${postChannelId} and pc.workspace_id = ${workspaceId} and pc.post_id = p.id and ${isOpenChannel} ${where}
  returning pc.id)`;

/**
 * Reads what goes out, and where nothing speaks against it (the post is on time, its server has a slot, and no rate limit
 * lasts) starts the try with the same statement. Whoever gets a job that holds a slot gives it back.
 *
 * @returns null when the post or the channel is gone.
 */
export async function loadAndStart(
  deps: ActivityDeps,
  request: PublishRequest,
): Promise<PublishJob | null> {
  const row = await readAndStart(deps, request);
  if (!row || row.has_slots || isFinal(row.status)) {
    return row ? jobOf(deps, request, row) : null;
  }

  await makeSlots(deps, request);
  const again = await readAndStart(deps, request);
  return again ? jobOf(deps, request, again) : null;
}

/**
 * What the try goes by is what the statement reads: if it had to wait for somebody who changed the post, nothing starts
 * (`xmin` is the version of a row). Whoever changes what a channel is to get, or disconnects it, changes the post too.
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
      with ${takeSlot(request, now)},
      seen as materialized (
        select xmin::text as version from posts where id = ${postId} and workspace_id = ${workspaceId}),
      ${lockedPost(request, 'publishing')},
      ${started}
      ${selectJob(request)}`,
  );
  return row;
}

/** The ledger of a channel that has none is one row without an entry. */
type Row = EntryRow | { readonly id: null };

/**
 * Starts a try that has not started yet. The revision says that the post is as it was read, so that nothing older than
 * the newest edit begins to go out.
 *
 * @returns the ledger as it was at that moment, or null when the channel must not be tried. Another try may write to the
 *   ledger at any time, so whoever marks something looks again.
 */
export async function startAttempt(
  deps: ActivityDeps,
  job: PublishJob,
): Promise<readonly Entry[] | null> {
  if (job.startedWith) {
    return job.startedWith;
  }

  const rows = await query(
    deps.orm.em.fork(),
    sql<Row>`
      with ${lockedPost(job, statusOf(job), job.revision)},
      ${startedChannel(job, { from: sql``, where: sql`` })}
      select ledger.* from started left join (${countingRows(job, job.run)}) ledger on true order by ledger.part`,
  );
  const entries = rows.filter((row): row is EntryRow => row.id !== null);
  return rows.length === 0 ? null : entriesOf(job, entries);
}
