import type { Readable } from 'node:stream';
import { sql } from 'kysely';
import { dueAt } from '../../db/post-columns.ts';
import {
  countingRows,
  entriesOf,
  isComplete,
  type LedgerEntry,
  type EntryRow,
} from '../../db/ledger/entries.ts';
import { isOpen, mayBeLive } from '../../db/ledger/part-states.ts';
import { limitColumns, limitJoins, longestLimit, type LimitRow } from '../../db/network-limits.ts';
import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import type { MediaDetails } from '../../domain/media-details.ts';
import type { ChannelStatus, PostStatus } from '../../domain/post-status.ts';
import type { VideoOptions } from '../../domain/post-view.ts';
import { filesOfParts } from '../../domain/files-of-parts.ts';
import { textsForChannel, withComment } from '../../domain/texts.ts';
import {
  filesInOptions,
  noOptions,
  optionsFor,
  type Options,
} from '../../networks/content-rules.ts';
import { NetworkError, type PartMedia } from '../../networks/network.ts';
import { describeError } from '../../runtime/logger.ts';
import { accountColumns, channelAccountOf, type AccountRow } from '../account/channel-account.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishJob, PublishRequest } from './job.ts';
import {
  circuitJoin,
  serverSlotColumns,
  serverSlotOf,
  type ServerSlotRow,
} from './server-slots.ts';

type MediaRow = {
  id: string;
  name: string;
  type: string;
  size_bytes: number;
  width: number | null;
  height: number | null;
  duration_ms: number | null;
  details: MediaDetails | null;
  alt_text: string | null;
  /** Part of the thread, from 0. */
  part: number;
  storage_key: string;
  deleted_at: string | null;
};

export type JobRow = LimitRow &
  ServerSlotRow &
  AccountRow & {
    channel_id: string;
    platform: string;
    base_url: string;
    is_disconnected: boolean;
    is_lost: boolean;
    run: number;
    revision: number;
    tries: number;
    post_status: PostStatus;
    due_at: Date | null;
    status: ChannelStatus;
    error_code: ChannelErrorCode | null;
    override: string | null;
    options: Options | null;
    defaults: Options | null;
    body: string | null;
    thread: readonly string[] | null;
    video: VideoOptions | null;
    media: readonly MediaRow[] | null;
    option_files: readonly MediaRow[] | null;
    has_started: boolean;
    ledger: readonly EntryRow[] | null;
  };

/** Includes deleted files: a post with a missing file must fail, not go out without it. */
const mediaColumn = sql`(select json_agg(json_build_object('id', m.id, 'name', m.name, 'type', m.type,
      'size_bytes', m.size_bytes, 'width', m.width, 'height', m.height, 'duration_ms', m.duration_ms, 'details', m.details,
      'alt_text', coalesce(pm.alt_text, m.alt_text), 'part', pm.part, 'storage_key', m.storage_key, 'deleted_at', m.deleted_at) order by pm.position)
    from post_media pm join media_files m on m.id = pm.media_id and m.workspace_id = pm.workspace_id
    where pm.post_id = p.id and pm.workspace_id = p.workspace_id and pm.part >= 0) as media`;

/** Files that the options refer to, including the channel's defaults. */
const optionFilesColumn = sql`(select json_agg(json_build_object('id', m.id, 'name', m.name, 'type', m.type,
      'size_bytes', m.size_bytes, 'width', m.width, 'height', m.height, 'duration_ms', m.duration_ms, 'details', m.details,
      'alt_text', m.alt_text, 'part', 0, 'storage_key', m.storage_key, 'deleted_at', m.deleted_at))
    from media_files m where m.workspace_id = pc.workspace_id and m.id = any(array(
      select value::uuid from jsonb_each_text(coalesce(pc.defaults, '{}') || coalesce(pc.options, '{}'))
      where value ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'))) as option_files`;

/**
 * SQL: end of a statement that reads the rows for {@link jobOf}. Needs `slot` and `started` before it
 * (`start-attempt.ts`).
 */
export const selectJob = (request: PublishRequest) => sql<JobRow>`
  select pc.channel_id, c.platform, c.base_url, ${accountColumns},
    c.disconnected_at is not null as is_disconnected, c.state = 'needs_reconnect' as is_lost,
    p.run, p.revision, pc.tries, pc.status, pc.error_code, p.status as post_status, ${dueAt('p')} as due_at,
    pc.body as override, pc.options, pc.defaults, p.body, p.thread, p.video, ${limitColumns}, ${serverSlotColumns}, ${mediaColumn}, ${optionFilesColumn},
    exists (select 1 from started) as has_started,
    (select json_agg(ledger order by part) from (${countingRows(request, sql`p.run`)}) ledger) as ledger
  from post_channels pc
  join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
  join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
  left join channel_grants g on g.channel_id = c.id and g.workspace_id = c.workspace_id
  ${limitJoins} ${circuitJoin}
  where pc.id = ${request.postChannelId} and pc.post_id = ${request.postId} and pc.workspace_id = ${request.workspaceId}`;

export function jobOf(deps: ActivityDeps, request: PublishRequest, row: JobRow): PublishJob {
  const rules = deps.networks[row.platform]?.rules;
  const { threads = true, comments = false, options: schema = noOptions } = rules ?? {};
  const own = textsForChannel(row, row.override, threads);
  const chosen = { defaults: row.defaults, video: row.video, own: row.options };
  const options = optionsFor({ options: schema }, chosen);
  const texts = withComment(own, options, comments);
  const content = {
    media: mediaOf(deps, row.media ?? [], Math.max(1, own.length)),
    options,
    optionFiles: filesInOptions(schema, options, opened(deps, row.option_files ?? [])),
  };
  const ledger = entriesOf(content, row.ledger ?? []);
  const isBeingSent = row.status === 'publishing' || row.status === 'retrying';
  return {
    ...request,
    channelId: row.channel_id,
    platform: row.platform,
    baseUrl: row.base_url,
    isDisconnected: row.is_disconnected,
    isLost: row.is_lost,
    run: row.run,
    isPublishing: row.post_status === 'publishing',
    isFinishing: row.post_status === 'draft' && isBeingSent && ledger.some(mayBeLive),
    isAccepted: ledger.length >= texts.length && isComplete(ledger),
    hasBegun: ledger.some((entry) => mayBeLive(entry) || entry.sealedUploads !== null),
    isInDoubt: ledger.some(isOpen),
    revision: row.revision,
    attempts: row.tries,
    dueAt: row.due_at ?? firstSendOf(ledger) ?? deps.now(),
    status: row.status,
    errorCode: row.error_code,
    texts: texts.length > 0 ? texts : [''],
    ...content,
    account: channelAccountOf(row),
    limit: longestLimit(row),
    server: serverSlotOf(row),
    startedWith: row.has_started ? ledger : null,
  };
}

function firstSendOf(ledger: readonly LedgerEntry[]): Date | undefined {
  const times = ledger.flatMap(({ sendingAt }) => sendingAt ?? []);
  return times.toSorted((a, b) => a.getTime() - b.getTime())[0];
}

/** Groups files by part. Opening a deleted file fails. */
const mediaOf = (deps: ActivityDeps, rows: readonly MediaRow[], parts: number): PartMedia[][] =>
  filesOfParts(opened(deps, rows), parts);

const opened = (deps: ActivityDeps, rows: readonly MediaRow[]) =>
  rows.map((row) => ({
    id: row.id,
    name: row.name,
    type: row.type,
    sizeBytes: row.size_bytes,
    width: row.width,
    height: row.height,
    durationMs: row.duration_ms,
    details: row.details,
    altText: row.alt_text,
    part: row.part,
    open: (fromByte = 0) => openFile(deps, row, fromByte),
  }));

async function openFile(deps: ActivityDeps, row: MediaRow, fromByte: number): Promise<Readable> {
  if (row.deleted_at !== null) {
    const message = `The file "${row.name}" is no longer in the media library, and the post does not go out without it.`;
    throw new NetworkError('media_refused', message, { accepted: 'no' });
  }

  const stream = await openStored(deps, row, fromByte);
  if (stream === null) {
    deps.log.error(
      { file: row.id, key: row.storage_key },
      'a file of the media library is missing in the storage: the API and all workers need the same PUNCTUAL_MEDIA_DIR or PUNCTUAL_S3_BUCKET',
    );
    const message = `The file "${row.name}" is missing in the media storage of this service. The post is not at fault. The operator finds the reason in the worker's log.`;
    throw new NetworkError('internal', message, { accepted: 'no' });
  }

  return stream;
}

/** @throws NetworkError with a message for the post's owner. The log has the storage's error for the operator. */
async function openStored(
  { storage, log }: ActivityDeps,
  row: MediaRow,
  fromByte: number,
): Promise<Readable | null> {
  const tell = (error: unknown) => {
    // A reader may end the stream early: a video's last chunk is read by a request of its own.
    if (!(error instanceof Error && error.name === 'AbortError')) {
      log.warn({ file: row.id, error: describeError(error) }, 'a file cannot be read');
    }
  };
  try {
    const stream = await storage.open(
      row.storage_key,
      fromByte > 0 ? { start: fromByte, end: row.size_bytes - 1 } : undefined,
    );
    return stream?.on('error', tell) ?? null;
  } catch (error) {
    tell(error);
    const message = `The file "${row.name}" could not be read: the media storage of this service does not answer. The operator finds the reason in the worker's log.`;
    throw new NetworkError('internal', message, { accepted: 'no', cause: error });
  }
}
