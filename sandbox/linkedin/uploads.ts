import { createHash, randomBytes } from 'node:crypto';
import type { Files } from '../files.ts';
import { inspectFile } from '../inspect-file.ts';
import type { Script } from '../script.ts';
import { invalid, notFound } from './refusals.ts';

/** The range size of LinkedIn's video uploads. */
export const rangeBytes = 4 * 1024 * 1024;
/** LinkedIn's processing depends on time, not on polls. Milliseconds per poll that `slow` takes on other networks. */
const slowMsPerPoll = 1000;
/** Limit for a GIF. */
const maxFrames = 250;
/** The most uploads kept; the oldest are dropped. */
const maxUploads = 200;

type Status = 'WAITING_UPLOAD' | 'PROCESSING' | 'PROCESSING_FAILED' | 'AVAILABLE';

/** An announced file. Its bytes may be missing. */
export type Upload = {
  readonly urn: string;
  readonly owner: string;
  /** Identifies it in upload URLs. */
  readonly secret: string;
  readonly uploadToken: string;
  readonly ranges: (Buffer | null)[];
  readonly sizeBytes: number | null;
  status: Status;
  /** End of the processing, in milliseconds since 1970, and its result. */
  pending: { untilMs: number; end: Status };
  /** Set once all bytes have arrived. */
  stored: { readonly cid: string; readonly type: string } | null;
};

export type Uploads = {
  /** @param sizeBytes The size of a video; null for an image, which is sent in one piece. */
  begin(owner: string, sizeBytes: number | null): Upload;
  find(urn: string): Upload | undefined;
  /** Stores the bytes of a range. @returns the id of the part, for `finalize`. */
  put(secret: string, index: number, bytes: Buffer): Promise<string>;
  /** Joins the ranges. @throws LinkedinRefusal 400 when the parts do not match. */
  finalize(urn: string, uploadToken: string, partIds: readonly string[]): Promise<void>;
};

/** Uploads, in memory only; posts keep their files. */
export function createUploads(files: Files, script: Script, now: () => number): Uploads {
  const uploads = new Map<string, Upload>();
  const complete = async (upload: Upload): Promise<void> => {
    const key = upload.urn;
    const { polls, fails } = script.processingOf({ network: 'linkedin', texts: [], key });
    const bytes = Buffer.concat(upload.ranges.map((range) => range ?? empty));
    upload.stored = await files.put(bytes);
    const isRefused = fails || !(await isTaken(bytes, upload.stored));
    const end = isRefused ? 'PROCESSING_FAILED' : 'AVAILABLE';
    upload.pending = { untilMs: now() + polls * slowMsPerPoll, end };
    upload.status = 'PROCESSING';
  };

  return {
    begin(owner, sizeBytes) {
      const upload = announced(owner, sizeBytes);
      uploads.set(upload.urn, upload);
      for (const oldest of uploads.keys()) {
        if (uploads.size <= maxUploads) {
          break;
        }
        uploads.delete(oldest);
      }
      return upload;
    },
    find(urn) {
      const upload = uploads.get(urn);
      if (upload?.status === 'PROCESSING' && upload.pending.untilMs <= now()) {
        upload.status = upload.pending.end;
      }
      return upload;
    },
    async put(secret, index, bytes) {
      const upload = [...uploads.values()].find((one) => one.secret === secret);
      if (upload === undefined || index >= upload.ranges.length) {
        throw notFound('the upload');
      }
      assertLength(upload, index, bytes.length);
      upload.ranges[index] = bytes;
      if (upload.sizeBytes === null) {
        await complete(upload);
      }
      return partIdOf(bytes);
    },
    async finalize(urn, uploadToken, partIds) {
      const upload = uploads.get(urn);
      if (upload === undefined) {
        throw notFound(urn);
      }
      if (!hasParts(upload, uploadToken, partIds) || upload.status !== 'WAITING_UPLOAD') {
        throw invalid('The uploaded parts are not those of this video', 'UPDATING_ASSET_FAILED');
      }
      await complete(upload);
    },
  };
}

async function isTaken(bytes: Buffer, stored: Upload['stored']): Promise<boolean> {
  return stored !== null && ((await inspectFile(bytes, stored.type)).frames ?? 1) <= maxFrames;
}

function announced(owner: string, sizeBytes: number | null): Upload {
  const kind = sizeBytes === null ? 'image' : 'video';
  const count = sizeBytes === null ? 1 : Math.max(1, Math.ceil(sizeBytes / rangeBytes));
  return {
    urn: `urn:li:${kind}:${randomBytes(12).toString('base64url')}`,
    owner,
    secret: randomBytes(16).toString('base64url'),
    uploadToken: sizeBytes === null ? '' : randomBytes(8).toString('base64url'),
    ranges: Array.from({ length: count }, () => null),
    sizeBytes,
    status: 'WAITING_UPLOAD',
    pending: { untilMs: 0, end: 'AVAILABLE' },
    stored: null,
  };
}

const empty = Buffer.alloc(0);

/** Whether these are all ranges of the upload, in order. */
function hasParts(upload: Upload, uploadToken: string, partIds: readonly string[]): boolean {
  const known = upload.ranges.map((range) => range && partIdOf(range));
  return (
    uploadToken === upload.uploadToken &&
    partIds.length === known.length &&
    known.every((id, index) => id === partIds[index])
  );
}

const partIdOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('base64url');

/** @throws LinkedinRefusal 400 for a wrong number of bytes. */
function assertLength({ sizeBytes }: Upload, index: number, length: number): void {
  const most = sizeBytes === null ? length : Math.min(rangeBytes, sizeBytes - index * rangeBytes);
  if (length !== most || length === 0) {
    throw invalid(`This range has ${most} bytes, and ${length} came`);
  }
}
