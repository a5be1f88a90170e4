import type { Readable } from 'node:stream';
import { entriesOf, isComplete, type EntryRow, type LedgerEntry } from '../../db/ledger/entries.ts';
import { isOpen, mayBeLive } from '../../domain/live-parts.ts';
import type { ChannelErrorCode, NetworkLimit } from '../../domain/channel-error.ts';
import type { MediaDetails } from '../../domain/media.ts';
import { publishWindowMs } from '../../domain/next-attempt.ts';
import { filesOfParts, textsForChannel, withComment } from '../../domain/parts.ts';
import type { VideoOptions } from '../../domain/post-view.ts';
import type { ChannelStatus, PostStatus } from '../../domain/statuses.ts';
import {
  filesInOptions,
  noOptions,
  optionsFor,
  type Options,
} from '../../networks/content-rules.ts';
import { NetworkError, type PartMedia } from '../../networks/network.ts';
import { describeError } from '../../runtime/logger.ts';
import { channelAccountOf, type AccountRow, type SealedAccount } from '../channel-account.ts';
import type { ActivityDeps } from '../deps.ts';

export type PublishRequest = {
  readonly workspaceId: string;
  readonly postId: string;
  readonly postChannelId: string;
};

/** Everything an attempt needs of its post and channel. Each attempt reads it again. */
export type PublishJob = PublishRequest & {
  readonly channelId: string;
  readonly platform: string;
  /** URL of the channel's server. */
  readonly baseUrl: string;
  /** The account was disconnected: its credentials are erased, and no requests are sent. */
  readonly isDisconnected: boolean;
  /** The channel was marked as `needs_reconnect` when the attempt began. */
  readonly isLost: boolean;
  /** The post's run; for a cancelled post, the last one with a ledger. */
  readonly run: number;
  /** Whether the post was publishing when its texts and files were read. Before that they can still be edited. */
  readonly isPublishing: boolean;
  /** The post was cancelled while this channel was being sent: open parts are reconciled, and nothing is sent. */
  readonly isCancelled: boolean;
  /** The network has all parts; only polling is left. */
  readonly isAccepted: boolean;
  /** A part is or may be on the network. */
  readonly hasBegun: boolean;
  /** A part is open: it may be on the network. */
  readonly isInDoubt: boolean;
  /** The ledger when the job was read. Another attempt may write to it at any time, so every later write checks again. */
  readonly ledger: readonly LedgerEntry[];
  /** The post's revision when the job was read. */
  readonly revision: number;
  /** Attempts on this channel in this run, without waits for rate limits. */
  readonly attempts: number;
  /** Start of the publish window: the post's time, or that of its last retry; for a cancelled post, its first send. */
  readonly dueAt: Date;
  readonly status: ChannelStatus;
  readonly errorCode: ChannelErrorCode | null;
  /** Texts to publish, in order; one for a single post. */
  readonly texts: readonly string[];
  /** The files of each text. */
  readonly media: readonly (readonly PartMedia[])[];
  /** Options of the post for this channel, merged over the channel's defaults. */
  readonly options: Options;
  /** Files that the options refer to, by option. */
  readonly optionFiles: Readonly<Record<string, PartMedia>>;
  readonly account: SealedAccount;
  /** The rate limit with the latest end, which may have passed. */
  readonly limit: NetworkLimit | null;
};

/** End of the publish window, in milliseconds since 1970. Nothing is sent after it. */
export const publishWindowEndMs = ({ dueAt }: PublishJob): number =>
  dueAt.getTime() + publishWindowMs;

export const isPublishWindowOver = (deps: ActivityDeps, job: PublishJob): boolean =>
  deps.now().getTime() > publishWindowEndMs(job);

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

/** Row of the statement that reads a job (`load-job.ts`). */
export type JobRow = AccountRow & {
  parked_until: Date | null;
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
  ledger: readonly EntryRow[] | null;
};

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
  const isCancelled = row.post_status === 'draft' && isBeingSent;
  return {
    ...request,
    channelId: row.channel_id,
    platform: row.platform,
    baseUrl: row.base_url,
    isDisconnected: row.is_disconnected,
    isLost: row.is_lost,
    run: row.run,
    isPublishing: row.post_status === 'publishing',
    isCancelled,
    isAccepted: isWhole({ texts, isCancelled }, ledger),
    hasBegun: ledger.some((entry) => mayBeLive(entry) || entry.sealedUploads !== null),
    isInDoubt: ledger.some(isOpen),
    ledger,
    revision: row.revision,
    attempts: row.tries,
    dueAt: row.due_at ?? firstSendOf(ledger) ?? deps.now(),
    status: row.status,
    errorCode: row.error_code,
    texts: texts.length > 0 ? texts : [''],
    ...content,
    account: channelAccountOf(row),
    limit: deps.limits.announced.longest(
      { platform: row.platform, baseUrl: row.base_url },
      row.parked_until,
    ),
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
