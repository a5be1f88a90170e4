import type { Readable } from 'node:stream';
import { sql, type RawBuilder } from 'kysely';
import type { PostChannel } from '../../db/entities/post-channels.ts';
import type { Post } from '../../db/entities/posts.ts';
import {
  countingRows,
  entriesOf,
  isComplete,
  lastRun,
  type EntryRow,
  type LedgerEntry,
  type PostedContent,
} from '../../db/ledger/entries.ts';
import type { LedgerOf } from '../../db/ledger/parts.ts';
import { dueAt } from '../../db/post-status.ts';
import { query } from '../../db/query.ts';
import { isOpen, mayBeLive } from '../../domain/live-parts.ts';
import type { ChannelErrorCode, NetworkLimit } from '../../domain/channel-error.ts';
import { publishWindowMs } from '../../domain/next-attempt.ts';
import { filesOfParts, textsForChannel, withComment } from '../../domain/parts.ts';
import type { ChannelStatus, PostStatus } from '../../domain/statuses.ts';
import { filesInOptions, noOptions, optionsFor } from '../../networks/content-rules.ts';
import { NetworkError, type PartMedia } from '../../networks/network.ts';
import { describeError } from '../../runtime/logger.ts';
import { accountColumns, type ChannelAccount } from '../channel-account.ts';
import type { ActivityDeps } from '../deps.ts';

export type PublishRequest = {
  readonly workspaceId: string;
  readonly postId: string;
  readonly postChannelId: string;
};

type OfRows = ChannelAccount & {
  /** The account was disconnected: its credentials are erased, and no requests are sent. */
  readonly isDisconnected: boolean;
  readonly isLost: boolean;
  /** The post's run; for a cancelled post, the last one with a ledger. */
  readonly run: number;
  readonly revision: number;
  /** Attempts on this channel in this run, without waits for rate limits. */
  readonly attempts: number;
  readonly status: ChannelStatus;
  readonly errorCode: ChannelErrorCode | null;
};

/** Everything an attempt needs of its post and channel. `media` are the files of each text. */
export type PublishJob = PublishRequest &
  OfRows &
  PostedContent & {
    /** Whether the post was publishing when its texts and files were read. Before that they can still be edited. */
    readonly isPublishing: boolean;
    /** Cancelled while this channel was being sent: open parts are reconciled, and nothing is sent. */
    readonly isCancelled: boolean;
    /** The network has all parts; only polling is left. */
    readonly isAccepted: boolean;
    /** A part is or may be on the network. */
    readonly hasBegun: boolean;
    /** A part is open: it may be on the network. */
    readonly isInDoubt: boolean;
    /** The ledger when the job was read. Another attempt may write to it at any time, so every later write checks again. */
    readonly ledger: readonly LedgerEntry[];
    /** Start of the publish window: the post's time, or that of its last retry; for a cancelled post, its first send. */
    readonly dueAt: Date;
    readonly texts: readonly string[];
    /** The rate limit with the latest end, which may have passed. */
    readonly limit: NetworkLimit | null;
  };

/** Nothing is sent after it, in milliseconds since 1970. */
export const publishWindowEndMs = (job: PublishJob): number =>
  job.dueAt.getTime() + publishWindowMs;

export const isPublishWindowOver = (deps: ActivityDeps, job: PublishJob): boolean =>
  deps.now().getTime() > publishWindowEndMs(job);

type FileRow = Omit<PartMedia, 'open'> & {
  readonly part: number;
  readonly storageKey: string;
  readonly deletedAt: string | null;
};

type JobRow = OfRows &
  Pick<Post, 'body' | 'thread' | 'video'> &
  Pick<PostChannel, 'options' | 'defaults'> &
  ReadOnly & {
    readonly parkedUntil: Date | null;
    readonly postStatus: PostStatus;
    readonly dueAt: Date | null;
    readonly override: string | null;
    readonly files: readonly FileRow[] | null;
    readonly filesOfOptions: readonly FileRow[] | null;
    readonly entries: readonly EntryRow[] | null;
  };

/** @throws Error on a standby, which may show an earlier state until it is promoted. */
export async function loadJob(
  deps: ActivityDeps,
  request: PublishRequest,
): Promise<PublishJob | null> {
  const em = deps.orm.em.fork();
  const [row] = await query(em, selectJob(request));
  const [state] = row ? [row] : await query(em, sql<ReadOnly>`select ${isReadOnly}`);
  if (state?.isReadOnly) {
    throw Object.assign(new Error('The database is read-only.'), { code: '25006' });
  }

  return row ? jobOf(deps, request, row) : null;
}

type ReadOnly = { readonly isReadOnly: boolean };
const isReadOnly = sql`current_setting('transaction_read_only')::boolean as "isReadOnly"`;

/** SQL: reads a job. The files include deleted ones: a post with a missing file must fail, not go out without it. */
const selectJob = ({ postId, ...of }: PublishRequest) => sql<JobRow>`
  select ${accountColumns}, c.disconnected_at is not null as "isDisconnected", c.state = 'needs_reconnect' as "isLost",
    ${runOf(of)} as run, p.revision, pc.tries as attempts, pc.status, pc.error_code as "errorCode",
    p.status as "postStatus", ${dueAt('p')} as "dueAt", c.parked_until as "parkedUntil",
    ${isReadOnly}, pc.body as override, pc.options, pc.defaults, p.body, p.thread, p.video,
    case when pc.media is null then (
      select json_agg(${fileRow(sql`coalesce(pm.alt_text, m.alt_text)`, sql`pm.part`)} order by pm.position)
      from post_media pm join media_files m on m.id = pm.media_id and m.workspace_id = pm.workspace_id
      where pm.post_id = p.id and pm.workspace_id = p.workspace_id and pm.part >= 0)
    else (
      select json_agg(${fileRow(sql`coalesce(own.file ->> 'alt_text', m.alt_text)`)} order by own.position)
      from jsonb_array_elements(pc.media) with ordinality own (file, position)
      join media_files m on m.id = (own.file ->> 'media_id')::uuid and m.workspace_id = pc.workspace_id)
    end as files,
    (select json_agg(${fileRow(sql`m.alt_text`)})
      from media_files m where m.workspace_id = pc.workspace_id and m.id = any(array(
        select value::uuid from jsonb_each_text(coalesce(pc.defaults, '{}') || coalesce(pc.options, '{}'))
        where value ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'))) as "filesOfOptions",
    (select json_agg(ledger order by part)
      from (${countingRows(of, runOf(of))}) ledger) as entries
  from post_channels pc
  join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
  join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
  left join channel_grants g on g.channel_id = c.id and g.workspace_id = c.workspace_id
  where pc.id = ${of.postChannelId} and pc.post_id = ${postId} and pc.workspace_id = ${of.workspaceId}`;

const fileRow = (altText: RawBuilder<unknown>, part = sql`0`) =>
  sql`json_build_object('id', m.id, 'name', m.name, 'type', m.type, 'sizeBytes', m.size_bytes, 'width', m.width,
    'height', m.height, 'durationMs', m.duration_ms, 'details', m.details, 'altText', ${altText}, 'part', ${part},
    'storageKey', m.storage_key, 'deletedAt', m.deleted_at)`;

/** A cancelled post may be in a newer run without an attempt. */
const runOf = (of: LedgerOf) =>
  sql`case p.status when 'draft' then coalesce(${lastRun(of)}, p.run) else p.run end`;

function jobOf(deps: ActivityDeps, request: PublishRequest, row: JobRow): PublishJob {
  const { parkedUntil, postStatus, override, defaults, body, thread, video, ...channel } = row;
  const { files, filesOfOptions, entries, ...ofChannel } = channel;
  const rules = deps.networks[row.platform]?.rules;
  const { threads = true, comments = false, options: schema = noOptions } = rules ?? {};
  const own = textsForChannel({ body, thread }, override, threads);
  const options = optionsFor({ options: schema }, { defaults, video, own: row.options });
  const texts = withComment(own, options, comments);
  const content = {
    media: filesOfParts(opened(deps, files ?? []), Math.max(1, own.length)),
    options,
    optionFiles: filesInOptions(schema, options, opened(deps, filesOfOptions ?? [])),
  };
  const ledger = entriesOf(content, entries ?? []);
  const isCancelled =
    postStatus === 'draft' && (row.status === 'publishing' || row.status === 'retrying');
  return {
    ...request,
    ...ofChannel,
    isPublishing: postStatus === 'publishing',
    isCancelled,
    isAccepted: isWhole({ texts, isCancelled }, ledger),
    hasBegun: ledger.some((entry) => mayBeLive(entry) || entry.sealedUploads !== null),
    isInDoubt: ledger.some(isOpen),
    ledger,
    dueAt: row.dueAt ?? firstSendOf(ledger) ?? deps.now(),
    texts: texts.length > 0 ? texts : [''],
    ...content,
    limit: deps.limits.announced.longest(row, parkedUntil),
  };
}

/** Whether the network has all parts. A cancelled post may have been edited since, so its ledger says how many. */
export const isWhole = (
  { texts, isCancelled }: Pick<PublishJob, 'texts' | 'isCancelled'>,
  entries: readonly LedgerEntry[],
): boolean => isComplete(entries) && (isCancelled || entries.length >= texts.length);

function firstSendOf(ledger: readonly LedgerEntry[]): Date | undefined {
  const times = ledger.flatMap(({ sendingAt }) => sendingAt ?? []);
  return times.toSorted((a, b) => a.getTime() - b.getTime())[0];
}

const opened = (deps: ActivityDeps, rows: readonly FileRow[]) =>
  rows.map((row) => ({ ...row, open: (fromByte = 0) => openFile(deps, row, fromByte) }));

/** The log has the storage's error for the operator. */
async function openFile(
  { storage, log }: ActivityDeps,
  { id, name, storageKey, sizeBytes, deletedAt }: FileRow,
  fromByte: number,
): Promise<Readable> {
  if (deletedAt !== null) {
    const message = `The file "${name}" is no longer in the media library, and the post does not go out without it.`;
    throw new NetworkError('media_refused', message, { accepted: 'no' });
  }

  const tell = (error: unknown) => {
    // A reader may end the stream early: a video's last chunk is read by a request of its own.
    if (!(error instanceof Error && error.name === 'AbortError')) {
      log.warn({ file: id, error: describeError(error) }, 'a file cannot be read');
    }
  };
  const range = fromByte > 0 ? { start: fromByte, end: sizeBytes - 1 } : undefined;
  const stream = await storage.open(storageKey, range).catch((error: unknown) => {
    tell(error);
    const message = `The file "${name}" could not be read: the media storage of this service does not answer. The operator finds the reason in the worker's log.`;
    throw new NetworkError('internal', message, { accepted: 'no', cause: error });
  });
  if (stream === null) {
    log.error(
      { file: id, key: storageKey },
      'a file of the media library is missing in the storage: the API and all workers need the same PUNCTUAL_MEDIA_DIR or PUNCTUAL_S3_BUCKET',
    );
    const message = `The file "${name}" is missing in the media storage of this service. The post is not at fault. The operator finds the reason in the worker's log.`;
    throw new NetworkError('internal', message, { accepted: 'no' });
  }

  return stream.on('error', tell);
}
