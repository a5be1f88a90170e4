import { sql } from 'kysely';
import { countingRows, lastRun } from '../../db/ledger/entries.ts';
import type { LedgerOf } from '../../db/ledger/parts.ts';
import { dueAt } from '../../db/post-status.ts';
import { query } from '../../db/query.ts';
import { accountColumns } from '../channel-account.ts';
import type { ActivityDeps } from '../deps.ts';
import { jobOf, type JobRow, type PublishJob, type PublishRequest } from './job.ts';

/** @returns null if the post or the channel does not exist. */
export async function loadJob(
  deps: ActivityDeps,
  request: PublishRequest,
): Promise<PublishJob | null> {
  const [row] = await query(deps.orm.em.fork(), sql<JobRow>`${selectJob(request)}`);
  return row ? jobOf(deps, request, row) : null;
}

/**
 * SQL: reads the row for {@link jobOf}.
 *
 * - `media` includes deleted files: a post with a missing file must fail, not go out without it.
 * - They are the channel's own files, if it has some, instead of the post's.
 * - A cancelled post may be in a newer run without an attempt, so its last attempts decide.
 * - `option_files` are the files that the options refer to, including the channel's defaults.
 */
const selectJob = ({ postId, ...of }: PublishRequest) => sql`
  select pc.channel_id, c.platform, c.base_url, ${accountColumns},
    c.disconnected_at is not null as is_disconnected, c.state = 'needs_reconnect' as is_lost,
    ${runOf(of)} as run, p.revision, pc.tries, pc.status, pc.error_code, p.status as post_status, ${dueAt('p')} as due_at,
    pc.body as override, pc.options, pc.defaults, p.body, p.thread, p.video, c.parked_until,
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
      from (${countingRows(of, runOf(of))}) ledger) as ledger
  from post_channels pc
  join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
  join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
  left join channel_grants g on g.channel_id = c.id and g.workspace_id = c.workspace_id
  where pc.id = ${of.postChannelId} and pc.post_id = ${postId} and pc.workspace_id = ${of.workspaceId}`;

const runOf = (of: LedgerOf) =>
  sql`case p.status when 'draft' then coalesce(${lastRun(of)}, p.run) else p.run end`;
