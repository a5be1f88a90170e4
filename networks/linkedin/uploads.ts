import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Json } from '../../domain/json-schema.ts';
import type { StreamedBody } from '../../runtime/egress/egress.ts';
import { answerReader } from '../answer.ts';
import { fileBytes } from '../uploads/file-bytes.ts';
import { type PartMedia, type Connection, type ThreadPart, NetworkError } from '../network.ts';
import {
  addressSchema,
  answerOf,
  call,
  putBytes,
  putRefusal,
  type LinkedinAccess,
} from './client.ts';

/** A range of bytes, and the URL to upload it to. */
export type Range = {
  readonly uploadUrl: string;
  readonly firstByte: number;
  readonly lastByte: number;
};

/** A video upload in progress, with all that the next attempt needs to continue. */
export type VideoUpload = {
  readonly urn: string;
  readonly uploadToken: string;
  readonly expiresAtMs: number | null;
  /** In order, without gaps. */
  readonly ranges: readonly Range[];
  /** LinkedIn's ids of the uploaded ranges, in order. */
  readonly partIds: readonly string[];
};

/** The state of a file's upload to LinkedIn. */
export type KeptFile =
  /** Uploaded. A second send uses the same URN, so that LinkedIn recognises the duplicate. */
  | { readonly kind: 'whole'; readonly id: string; readonly urn: string }
  /** A video with some ranges uploaded. */
  | { readonly kind: 'begun'; readonly id: string; readonly upload: VideoUpload };

/** The value is sealed, so only what differs between versions of this service is checked. */
const readKept = answerReader<readonly (KeptFile | null)[]>({
  type: 'array',
  items: {
    type: 'object',
    nullable: true,
    required: ['kind', 'id'],
    properties: { kind: { enum: ['whole', 'begun'] }, id: { type: 'string' } },
  },
});

/** Stores the upload state of one file of a part between attempts. */
export type Keeper = {
  readonly kept: () => KeptFile | null;
  /** Resolves once it is committed. With null, the next attempt starts the upload again. */
  readonly keep: (file: KeptFile | null) => Promise<void>;
};

/** @returns a keeper for each of the part's files. The state of another file at the same index is ignored. */
export function openKeepers(
  connection: Connection,
  part: ThreadPart,
): readonly { readonly file: PartMedia; readonly keeper: Keeper }[] {
  const all = [...(readKept(connection.uploadsOf(part)) ?? [])];
  return part.media.map((file, index) => ({
    file,
    keeper: {
      kept: () => (all[index]?.id === file.id ? all[index] : null),
      keep: (kept) => {
        all[index] = kept;
        return connection.saveUploads(part, Array.from(all, (one) => one ?? null) as Json[]);
      },
    },
  }));
}

/** Images are usually processed within seconds. */
const processingTimeoutMs = 60_000;

const readUpload = answerReader<{
  readonly value: { readonly uploadUrl: string; readonly image: string };
}>({
  type: 'object',
  required: ['value'],
  properties: {
    value: {
      type: 'object',
      required: ['uploadUrl', 'image'],
      properties: {
        uploadUrl: addressSchema,
        image: { type: 'string', pattern: '^urn:li:image:[A-Za-z0-9_-]{1,100}$' },
      },
    },
  },
});

/**
 * Uploads an image to LinkedIn, unless an earlier attempt did, and waits until a post may use it.
 *
 * Source: https://learn.microsoft.com/linkedin/marketing/community-management/shares/images-api
 *
 * @param owner The URN of the posting account.
 * @returns the image's URN.
 */
export async function uploadImage(
  access: LinkedinAccess,
  owner: string,
  file: PartMedia,
  keeper: Keeper,
): Promise<string> {
  const kept = keeper.kept();
  const isThere =
    kept?.kind === 'whole' && (await mediaStatusOf(access, 'images', kept.urn, file)) !== null;
  const urn = isThere ? kept.urn : await bringImage(access, owner, bodyOf(file), file.name);
  if (!isThere) {
    await keeper.keep({ kind: 'whole', id: file.id, urn });
  }

  await untilAvailable(access, 'images', urn, file, processingTimeoutMs);
  return urn;
}

const bodyOf = (file: PartMedia): StreamedBody => ({
  stream: Readable.from(fileBytes(file)),
  sizeBytes: file.sizeBytes,
});

/** @returns the URN of the image, which LinkedIn may still be processing. */
export async function bringImage(
  access: LinkedinAccess,
  owner: string,
  body: StreamedBody,
  name: string,
): Promise<string> {
  const begun = await call(access, {
    method: 'POST',
    path: '/rest/images?action=initializeUpload',
    body: { initializeUploadRequest: { owner } },
    purpose: 'upload',
  });
  const { uploadUrl, image } = answerOf(
    begun,
    { ...access, purpose: 'upload', fileName: name },
    readUpload,
  ).value;
  const response = await putBytes(access, uploadUrl, body, { withToken: true });
  if (response.status < 200 || response.status > 299) {
    throw putRefusal(response, access, name);
  }
  return image;
}

const firstWaitMs = 500;

const longestWaitMs = 5000;

type Resource = 'images' | 'videos';

type Named = Pick<PartMedia, 'name'>;

/** `WAITING_UPLOAD`, `PROCESSING`, `PROCESSING_FAILED`, `AVAILABLE`; LinkedIn may add others. */
const readStatus = answerReader<{ readonly status: string }>({
  type: 'object',
  required: ['status'],
  properties: { status: { type: 'string' } },
});

/**
 * Reads LinkedIn's status of an uploaded file.
 *
 * @returns its status; `UNTOLD` when this token may not read it, null when there is no such file.
 */
export async function mediaStatusOf(
  access: LinkedinAccess,
  resource: Resource,
  urn: string,
  { name: fileName }: Named,
): Promise<string | null> {
  const path = `/rest/${resource}/${encodeURIComponent(urn)}`;
  const response = await call(access, { method: 'GET', path, purpose: 'upload' });
  if (response.status === 403) {
    return 'UNTOLD';
  }
  if (response.status === 404) {
    return null;
  }

  return answerOf(response, { ...access, purpose: 'upload', fileName }, readStatus).status;
}

/**
 * Waits until a post may use a file. Earlier, LinkedIn refuses the post, or accepts it and never shows it.
 *
 * @returns whether LinkedIn showed the file's status.
 * @throws NetworkError `media_refused` when LinkedIn could not process the file; `network_unavailable` when it is still
 *   processing after `timeoutMs` or at the end of the attempt. The next attempt continues to wait.
 */
export async function untilAvailable(
  access: LinkedinAccess,
  resource: Resource,
  urn: string,
  file: Named,
  timeoutMs: number,
): Promise<boolean> {
  const giveUpAtMs = Date.now() + timeoutMs;
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    const status = await mediaStatusOf(access, resource, urn, file);
    if (status === 'AVAILABLE' || status === 'UNTOLD') {
      return status === 'AVAILABLE';
    }
    if (status === 'PROCESSING_FAILED') {
      const message = `LinkedIn could not process the file "${file.name}".`;
      throw new NetworkError('media_refused', message, { accepted: 'no', server: 'answered' });
    }
    if (Date.now() > giveUpAtMs) {
      throw stillProcessing(file);
    }

    await sleep(waitMs, undefined, { signal: access.server.signal }).catch(() => {
      throw stillProcessing(file);
    });
  }
}

/** Wait for a video: the minimum, the time per million bytes, and the maximum, in milliseconds. */
const blindWait = { leastMs: 10_000, perMegabyteMs: 1000, mostMs: 120_000 };

/**
 * Waits after the upload of a video whose status this app may not read. If the wait is too short, LinkedIn refuses the
 * post temporarily, and the next attempt uses the same video.
 *
 * @throws NetworkError `network_unavailable` when the attempt ends during the wait.
 */
export async function untilProbablyAvailable(
  access: LinkedinAccess,
  file: PartMedia,
): Promise<void> {
  const { leastMs, perMegabyteMs, mostMs } = blindWait;
  const waitMs = Math.min(leastMs + (file.sizeBytes / 1_000_000) * perMegabyteMs, mostMs);
  await sleep(waitMs, undefined, { signal: access.server.signal }).catch(() => {
    throw stillProcessing(file);
  });
}

const stillProcessing = ({ name }: Named): NetworkError =>
  new NetworkError('network_unavailable', `LinkedIn is still processing the file "${name}".`, {
    accepted: 'no',
    server: 'answered',
  });
