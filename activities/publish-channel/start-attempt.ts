import { sql } from 'kysely';
import { isOpenChannel, publishingValues } from '../../db/channel-status.ts';
import {
  countingRows,
  entriesOf,
  type EntryRow,
  type LedgerEntry,
} from '../../db/ledger/entries.ts';
import { isLimited, limitColumns, limitJoins } from '../../db/network-limits.ts';
import { dueAt } from '../../db/post-status.ts';
import { query } from '../../db/query.ts';
import {
  answeringMs,
  failuresToPause,
  mostPerWorkspace,
  slotsPerServer,
} from '../../domain/pacing.ts';
import { isFinal } from '../../domain/statuses.ts';
import { accountColumns } from '../channel-account.ts';
import type { ActivityDeps } from '../deps.ts';
import { jobOf, type JobRow, type PublishJob, type PublishRequest } from './job.ts';
import { createServerSlots, heldFor, serverOfChannel } from './server-slots.ts';

/**
 * Reads the job and takes a slot at its server, if one is free and no rate limit is in force. A caller that gets a job
 * with a slot has to release the slot.
 *
 * @returns null if the post or the channel does not exist.
 */
export async function loadJob(
  deps: ActivityDeps,
  request: PublishRequest,
): Promise<PublishJob | null> {
  const row = await readJob(deps, request);
  if (!row || row.has_slots || isFinal(row.status)) {
    return row ? jobOf(deps, request, row) : null;
  }

  await createServerSlots(deps, request);
  const again = await readJob(deps, request);
  return again ? jobOf(deps, request, again) : null;
}

/** Runs the statement whose two halves follow. */
async function readJob(deps: ActivityDeps, request: PublishRequest): Promise<JobRow | undefined> {
  const [row] = await query(
    deps.orm.em.fork(),
    sql<JobRow>`with ${takeServerSlot(request, deps.now())} ${selectJob(request)}`,
  );
  return row;
}

/**
 * Share of a server's slots that one workspace may hold, in quarters, so that others get some. Attempts that begin at
 * the same moment do not see each other, so it may be a few more.
 */
const share = sql.lit(3);

/**
 * SQL, the first half: takes a slot at the channel's server, if the channel is open, no rate limit is in force and a
 * slot is free. SKIP LOCKED: an attempt that gets none returns at once. An attempt after a dead worker's takes over its
 * slot.
 */
const takeServerSlot = ({ workspaceId, postChannelId }: PublishRequest, now: Date) => sql`
  room as materialized (
    select c.platform, ${serverOfChannel} as base_url,
      case when circuit.failures >= ${sql.lit(failuresToPause)}
        then case when circuit.open_until <= clock_timestamp() then 1 else 0 end
        when exists (select 1 from server_places a
          where a.platform = c.platform and a.base_url = ${serverOfChannel}
            and a.answered_at > clock_timestamp() - ${sql.lit(answeringMs)} * interval '1 millisecond')
        then ${sql.lit(slotsPerServer.answering)} else ${sql.lit(slotsPerServer.silent)} end as slots,
      (select count(*) from server_places own
        where own.platform = c.platform and own.base_url = ${serverOfChannel} and own.workspace_id = ${workspaceId}
          and own.post_channel_id <> ${postChannelId} and own.taken_until > clock_timestamp()) as own,
      (select count(*) from server_places every
        where every.platform = c.platform and every.workspace_id = ${workspaceId}
          and every.post_channel_id <> ${postChannelId} and every.taken_until > clock_timestamp()) as everywhere
    from post_channels pc
    join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
    left join server_circuits circuit on circuit.platform = c.platform and circuit.base_url = ${serverOfChannel}
    ${limitJoins}
    where pc.id = ${postChannelId} and pc.workspace_id = ${workspaceId} and ${isOpenChannel}
      and c.disconnected_at is null and not ${isLimited(now)}),
  free as (
    select s.platform, s.base_url, s.place
    from room join server_places s on s.platform = room.platform and s.base_url = room.base_url
    where s.place < room.slots and 4 * room.own < ${share} * room.slots
      and room.everywhere < ${sql.lit(mostPerWorkspace)}
      and (s.taken_until is null or not s.taken_until > clock_timestamp() or s.post_channel_id = ${postChannelId})
    order by s.post_channel_id = ${postChannelId} desc nulls last, s.place limit 1 for update of s skip locked),
  slot as (
    update server_places s set workspace_id = ${workspaceId}, post_channel_id = ${postChannelId},
      taken_at = clock_timestamp(), taken_until = clock_timestamp() + ${heldFor}
    from free where s.platform = free.platform and s.base_url = free.base_url and s.place = free.place
    returning s.place)`;

/**
 * SQL, the second half: reads the row for {@link jobOf}.
 *
 * - The columns of the slot say which one was taken, or in which state the server is for an attempt that got none.
 * - `media` includes deleted files: a post with a missing file must fail, not go out without it.
 * - They are the channel's own files, if it has some, instead of the post's.
 * - `option_files` are the files that the options refer to, including the channel's defaults.
 */
const selectJob = ({ workspaceId, postId, postChannelId }: PublishRequest) => sql`
  select pc.channel_id, c.platform, c.base_url, ${accountColumns},
    c.disconnected_at is not null as is_disconnected, c.state = 'needs_reconnect' as is_lost,
    p.run, p.revision, pc.tries, pc.status, pc.error_code, p.status as post_status, ${dueAt('p')} as due_at,
    pc.body as override, pc.options, pc.defaults, p.body, p.thread, p.video, ${limitColumns},
    (select place from slot) as slot,
    exists (select 1 from server_places s
      where s.platform = c.platform and s.base_url = ${serverOfChannel}) as has_slots,
    circuit.failures >= ${sql.lit(failuresToPause)} as is_paused, circuit.failures,
    (extract(epoch from circuit.open_until - clock_timestamp()) * 1000)::float8 as paused_for_ms,
    case when not exists (select 1 from slot) then (
      select (extract(epoch from clock_timestamp() - max(s.taken_at)) * 1000)::float8 from server_places s
      where s.platform = c.platform and s.base_url = ${serverOfChannel} and s.taken_until > clock_timestamp()
    ) end as newest_for_ms,
    case when pc.media is null then (
      select json_agg(json_build_object('id', m.id, 'name', m.name, 'type', m.type,
        'size_bytes', m.size_bytes, 'width', m.width, 'height', m.height, 'duration_ms', m.duration_ms,
        'details', m.details, 'alt_text', coalesce(pm.alt_text, m.alt_text), 'part', pm.part,
        'storage_key', m.storage_key, 'deleted_at', m.deleted_at) order by pm.position)
      from post_media pm join media_files m on m.id = pm.media_id and m.workspace_id = pm.workspace_id
      where pm.post_id = p.id and pm.workspace_id = p.workspace_id and pm.part >= 0)
    else (
      select json_agg(json_build_object('id', m.id, 'name', m.name, 'type', m.type,
        'size_bytes', m.size_bytes, 'width', m.width, 'height', m.height, 'duration_ms', m.duration_ms,
        'details', m.details, 'alt_text', coalesce(own.file ->> 'alt_text', m.alt_text), 'part', 0,
        'storage_key', m.storage_key, 'deleted_at', m.deleted_at) order by own.position)
      from jsonb_array_elements(pc.media) with ordinality own (file, position)
      join media_files m on m.id = (own.file ->> 'media_id')::uuid and m.workspace_id = pc.workspace_id)
    end as media,
    (select json_agg(json_build_object('id', m.id, 'name', m.name, 'type', m.type,
        'size_bytes', m.size_bytes, 'width', m.width, 'height', m.height, 'duration_ms', m.duration_ms,
        'details', m.details, 'alt_text', m.alt_text, 'part', 0,
        'storage_key', m.storage_key, 'deleted_at', m.deleted_at))
      from media_files m where m.workspace_id = pc.workspace_id and m.id = any(array(
        select value::uuid from jsonb_each_text(coalesce(pc.defaults, '{}') || coalesce(pc.options, '{}'))
        where value ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'))) as option_files,
    (select json_agg(ledger order by part)
      from (${countingRows({ workspaceId, postChannelId }, sql`p.run`)}) ledger) as ledger
  from post_channels pc
  join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
  join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
  left join channel_grants g on g.channel_id = c.id and g.workspace_id = c.workspace_id
  ${limitJoins}
  left join server_circuits circuit on circuit.platform = c.platform and circuit.base_url = ${serverOfChannel}
  where pc.id = ${postChannelId} and pc.post_id = ${postId} and pc.workspace_id = ${workspaceId}`;

/** An empty ledger is one row without an entry. */
type Row = EntryRow | { readonly id: null };

/**
 * Starts the attempt: from this moment a cancel lets the channel finish. No attempt starts for a post that is not
 * publishing: it was cancelled, or it waits for another time. The revision check keeps content older than the newest
 * edit from being sent.
 *
 * @returns the ledger at that moment, or null if the attempt must not start. Another attempt may write to the ledger at
 * any time, so every later write checks again.
 */
export async function startAttempt(
  deps: ActivityDeps,
  job: PublishJob,
): Promise<readonly LedgerEntry[] | null> {
  const rows = await query(
    deps.orm.em.fork(),
    sql<Row>`
      with ${lockedPost(job)},
      started as (
        update post_channels pc set ${publishingValues} from post p
        where pc.id = ${job.postChannelId} and pc.workspace_id = ${job.workspaceId} and pc.post_id = p.id
          and ${isOpenChannel}
        returning pc.id)
      select ledger.* from started left join (${countingRows(job, job.run)}) ledger on true order by ledger.part`,
  );
  const entries = rows.filter((row): row is EntryRow => row.id !== null);
  return rows.length === 0 ? null : entriesOf(job, entries);
}

/**
 * SQL, part `post` of a statement: the post if it is unchanged since the job was read, locked before its channel.
 * Without the lock, a statement that waits for the channel would combine the new channel with the old post, which may
 * have been cancelled, edited and scheduled again meanwhile. A channel of a draft starts if it has to finish.
 */
export const lockedPost = ({ workspaceId, postId, revision, isFinishing }: PublishJob) =>
  sql`post as materialized (
    select id from posts
    where id = ${postId} and workspace_id = ${workspaceId} and status = ${isFinishing ? 'draft' : 'publishing'}
      and revision = ${revision} for share)`;
