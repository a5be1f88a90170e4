import { setTimeout as sleep } from 'node:timers/promises';
import type { Schemas } from '@xdevplatform/xdk';
import type { TokenAccess, NetworkRequest } from '../http.ts';
import { answerReader, quote } from '../answer.ts';
import { type Connection, type ThreadPart, type PartMedia, NetworkError } from '../network.ts';
import { idSchema, call, isSuccess, readAs, type Answer, type Wire } from './client.ts';
import { refusal } from './refusal.ts';

/** The upload state of a file, as stored in the ledger. */
export type KeptFile = {
  /** The id in the media library. */
  readonly file: string;
  /** X's id of the file. */
  readonly id: string;
  /** When X deletes it, in milliseconds since 1970. */
  readonly expiresAtMs: number;
  /** How many segments X has; 0 for a file that was sent in one request. */
  readonly segments: number;
  /**
   * `uploading`: X may lack segments, or the end of the upload. `processing`: X has the whole file and is processing
   * it.
   * `ready`: a post may use it.
   */
  readonly state: 'uploading' | 'processing' | 'ready';
  /** Start of the state, in milliseconds since 1970. */
  readonly stateSinceMs: number;
  /** Whether X has its alt text. */
  readonly isDescribed: boolean;
};

const time = { type: 'number', minimum: 0 };

const readKept = answerReader<{ readonly files: readonly KeptFile[] }>({
  type: 'object',
  required: ['files'],
  properties: {
    files: {
      type: 'array',
      items: {
        type: 'object',
        required: ['file', 'id', 'expiresAtMs', 'segments', 'state', 'stateSinceMs', 'isDescribed'],
        properties: {
          file: { type: 'string' },
          id: idSchema,
          expiresAtMs: time,
          segments: { type: 'integer', minimum: 0 },
          state: { enum: ['uploading', 'processing', 'ready'] },
          stateSinceMs: time,
          isDescribed: { type: 'boolean' },
        },
      },
    },
  },
});

/** The stored upload states of a part's files. */
export const keptFiles = (
  connection: Pick<Connection, 'uploadsOf'>,
  part: ThreadPart,
): readonly KeptFile[] => readKept(connection.uploadsOf(part))?.files ?? [];

/** The upload state of one file across attempts. */
type KeptPlace = {
  /** The state from an earlier attempt, unless X has deleted the file. */
  readonly earlier: KeptFile | null;
  /** Resolves once it is committed. */
  readonly keep: (fresh: KeptFile) => Promise<void>;
};

/** An id that expires sooner than this may be invalid when the post is created, in milliseconds. */
const expiryMarginMs = 5 * 60_000;

/** The state of a file, by its index, because a part may have the same file twice. */
export function keptPlace(connection: Connection, part: ThreadPart, file: PartMedia): KeptPlace {
  const place = part.media.indexOf(file);
  const known = keptFiles(connection, part)[place];
  const isUsable = known?.file === file.id && known.expiresAtMs - expiryMarginMs > Date.now();
  return {
    earlier: isUsable ? known : null,
    keep: (fresh) => {
      const files = [...keptFiles(connection, part)];
      files[place] = fresh;
      return connection.saveUploads(part, { files });
    },
  };
}

/** The upload of one file. */
export type Upload = {
  readonly access: TokenAccess;
  readonly file: PartMedia;
  readonly place: KeptPlace;
  readonly signal: AbortSignal;
  /** Whether an earlier attempt began it; X may then have deleted it. */
  readonly isOld: boolean;
};

/** X no longer knows an upload that an earlier attempt began. */
export class UploadGone extends Error {
  override readonly name = 'UploadGone';
}

/**
 * Sends one request about a file. Creates no post.
 *
 * @throws UploadGone when X refuses an upload that an earlier attempt began; NetworkError otherwise.
 */
export async function requestUpload<T>(
  { access, file, isOld }: Upload,
  request: Omit<NetworkRequest, 'purpose'>,
  read: (value: unknown) => T | null,
): Promise<T> {
  const response = await call(access, { ...request, purpose: 'upload' });
  if (isSuccess(response)) {
    return readAs(response, 'upload', read);
  }

  if (isOld && [400, 404, 410].includes(response.status)) {
    throw new UploadGone();
  }

  const { accessToken } = access;
  throw refusal(response, { purpose: 'upload', accessToken, fileName: file.name });
}

type ProcessingInfo = NonNullable<
  Wire<Schemas.GetMediaUploadStatusResponseData>['processing_info']
> & {
  /** Why it failed. Missing in X's document. */
  readonly error?: { readonly name?: string; readonly message?: string };
};

/** The response to an upload in one request, and to each step of an upload in segments. */
export type UploadAnswer = Answer<
  Pick<Wire<Schemas.GetMediaUploadStatusResponseData>, 'id' | 'expires_after_secs'> & {
    readonly processing_info?: ProcessingInfo;
  }
>;

export const readUpload = answerReader<UploadAnswer>({
  type: 'object',
  required: ['data'],
  properties: {
    data: {
      type: 'object',
      required: ['id'],
      properties: {
        id: idSchema,
        expires_after_secs: { type: 'number', minimum: 0 },
        processing_info: {
          type: 'object',
          properties: {
            state: { type: 'string' },
            check_after_secs: { type: 'number', minimum: 0 },
            error: {
              type: 'object',
              properties: { name: { type: 'string' }, message: { type: 'string' } },
            },
          },
        },
      },
    },
  },
});

/**
 * Stores the state of an uploaded file from X's response. No processing state means that the file is ready.
 *
 * @throws NetworkError `media_refused` when X could not process it.
 */
export async function keepState(
  { file, place, access }: Upload,
  kept: KeptFile,
  answer: UploadAnswer,
): Promise<KeptFile> {
  const { state, error } = answer.data.processing_info ?? {};
  if (state === 'failed') {
    const said = quote(error?.message ?? error?.name, [access.accessToken]);
    const message = `X could not process the file "${file.name}"${said && `: ${said}`}.`;
    throw new NetworkError('media_refused', message, { accepted: 'no', server: 'answered' });
  }

  const fresh: KeptFile = {
    ...kept,
    expiresAtMs: expiryOf(answer),
    state: state === undefined || state === 'succeeded' ? 'ready' : 'processing',
    stateSinceMs: Date.now(),
  };
  if (fresh.state !== kept.state) {
    await place.keep(fresh);
  }
  return fresh;
}

/** Lifetimes of a file: the default when X names none, and the maximum. X names a day after an upload, weeks before. */
const [unnamedExpirySecs, longestExpirySecs] = [60 * 60, 30 * 24 * 60 * 60];

/** When X deletes a file, in milliseconds since 1970. */
export const expiryOf = ({ data: { expires_after_secs: named } }: UploadAnswer): number =>
  Date.now() + Math.min(named ?? unnamedExpirySecs, longestExpirySecs) * 1000;

/** Reads the state of a file that X may still be processing. */
export const readUploadStatus = (upload: Upload, { id }: KeptFile): Promise<UploadAnswer> => {
  const path = `/2/media/upload?command=STATUS&media_id=${encodeURIComponent(id)}`;
  return requestUpload(upload, { method: 'GET', path }, readUpload);
};

/**
 * How long an attempt waits for a video. X takes about a minute for one of 140 s. The next attempt continues to wait.
 */
const waitsForMs = 90_000;

/** Bounds of the wait between two checks. A wait that exceeds the attempt's time ends the attempt. */
const [shortestMs, longestMs] = [250, 10 * 60_000];

/**
 * Waits until X has processed a file.
 *
 * @throws NetworkError `network_unavailable` when that exceeds the attempt's time; the next attempt continues to wait.
 */
export async function awaitProcessing(upload: Upload, from: KeptFile): Promise<KeptFile> {
  const giveUpAtMs = Date.now() + waitsForMs;
  let kept = from;
  while (kept.state === 'processing') {
    const answer = await readUploadStatus(upload, kept);
    kept = await keepState(upload, kept, answer);
    if (kept.state === 'processing') {
      const waitMs = waitOf(answer);
      if (Date.now() + waitMs > giveUpAtMs || !(await slept(waitMs, upload.signal))) {
        throw stillWorking(upload, Date.now() + waitMs);
      }
    }
  }

  return kept;
}

const waitOf = ({ data: { processing_info: info } }: UploadAnswer): number =>
  Math.min(Math.max((info?.check_after_secs ?? 1) * 1000, shortestMs), longestMs);

const stillWorking = ({ file }: Upload, retryAtMs: number): NetworkError =>
  new NetworkError('network_unavailable', `X is still processing the file "${file.name}".`, {
    accepted: 'no',
    retryAtMs,
    server: 'answered',
  });

/** @returns false when the attempt ended during the wait. */
const slept = (ms: number, signal: AbortSignal): Promise<boolean> =>
  sleep(ms, true, { signal }).catch(() => false);
