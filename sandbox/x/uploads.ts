import type { Files } from '../files.ts';
import { createProcessing } from '../processing.ts';
import type { Script } from '../script.ts';
import type { XFile } from './post.ts';
import { invalid, notFound } from './problems.ts';
import { refuseFile } from './refuse-file.ts';
import {
  announced,
  bytesOf,
  presentUpload,
  typesOf,
  type Upload,
  type WorkState,
} from './upload.ts';
import type { AppendAnswer, InitializeUpload, MediaCategory, UploadAnswer } from './wire.ts';

/** The most uploads kept; the oldest are dropped. */
const maxUploads = 100;
const expiresAfterMs = 24 * 60 * 60_000;
const maxPerPost = 4;

export type Uploads = {
  /** Uploads a picture in one request. */
  whole(category: MediaCategory, bytes: Buffer): Promise<UploadAnswer>;
  initialize(body: InitializeUpload): UploadAnswer;
  append(id: string, index: number, bytes: Buffer): AppendAnswer;
  finalize(id: string): Promise<UploadAnswer>;
  /** Polls an upload, which advances its processing. */
  status(id: string): UploadAnswer;
  describe(id: string, altText: string): void;
  /**
   * Returns the files with these ids for one post.
   *
   * @throws Refusal 400 when a file is unknown or not ready, or when their mixture is not allowed.
   */
  choose(ids: readonly string[]): readonly XFile[];
};

type Deps = {
  readonly files: Files;
  readonly script: Script;
  readonly now: () => number;
  readonly nextId: () => string;
};

/** Uploads under way or waiting for their posts, in memory only. */
export function createUploads({ files, script, now, nextId }: Deps): Uploads {
  const { find, add } = createRegister(now);
  const processing = createProcessing(script);
  const stateOf = ({ id, refusal }: Upload): WorkState => {
    const state = processing.stateOf(id);
    return state === 'ready' && refusal !== null ? 'failed' : state;
  };
  const present = (upload: Upload): UploadAnswer => presentUpload(upload, stateOf(upload), now());
  const begin = (category: MediaCategory, totalBytes: number): Upload =>
    add({
      id: nextId(),
      category,
      totalBytes,
      expiresAtMs: now() + expiresAfterMs,
      segments: new Map(),
      file: null,
      refusal: null,
    });

  return {
    async whole(category, bytes) {
      if (category !== 'tweet_image') {
        throw invalid(`The media category ${category} is uploaded in segments.`);
      }
      const upload = begin(category, bytes.length);
      await complete(files, upload, bytes);
      return present(upload);
    },
    initialize(body) {
      const { category, totalBytes } = announced(body);
      return present(begin(category, totalBytes));
    },
    append: (id, index, bytes) => append(find(id), index, bytes),
    async finalize(id) {
      const upload = find(id);
      await complete(files, upload, bytesOf(upload));
      processing.begin(id, { network: 'x', texts: [], key: id });
      return present(upload);
    },
    status(id) {
      const upload = find(id);
      if (upload.file === null) {
        throw invalid(`The media with id [${id}] is not finalized.`);
      }
      processing.poll(id);
      return present(upload);
    },
    describe(id, altText) {
      const upload = find(id);
      if (upload.file === null || upload.category === 'tweet_video') {
        throw invalid('Alt text is for images that are uploaded.');
      }
      upload.file = { ...upload.file, altText };
    },
    choose: (ids) =>
      choose(ids, find, (upload) => upload.file !== null && stateOf(upload) === 'ready'),
  };
}

function createRegister(now: () => number) {
  const uploads = new Map<string, Upload>();
  return {
    find(id: string): Upload {
      const upload = uploads.get(id);
      if (upload === undefined || upload.expiresAtMs <= now()) {
        throw notFound(`media with id: [${id}]`);
      }
      return upload;
    },
    add(upload: Upload): Upload {
      uploads.set(upload.id, upload);
      for (const oldest of uploads.keys()) {
        if (uploads.size <= maxUploads) {
          break;
        }
        uploads.delete(oldest);
      }
      return upload;
    },
  };
}

/** @throws Refusal 400 for a file that does not match its category. */
async function complete(files: Files, upload: Upload, bytes: Buffer): Promise<void> {
  const stored = await files.put(bytes);
  if (stored === null || !typesOf[upload.category].includes(stored.type)) {
    throw invalid('media type unrecognized.');
  }
  const { cid, type } = stored;
  upload.refusal = await refuseFile(bytes, type);
  if (upload.refusal !== null && upload.category === 'tweet_image') {
    throw invalid(upload.refusal);
  }
  upload.file = { id: upload.id, cid, type, altText: '' };
  upload.segments.clear();
}

function append(upload: Upload, index: number, bytes: Buffer): AppendAnswer {
  const { segments, totalBytes, file, expiresAtMs } = upload;
  segments.set(index, bytes);
  const length = [...segments.values()].reduce((sum, segment) => sum + segment.length, 0);
  if (file !== null || length > totalBytes) {
    segments.delete(index);
    throw invalid('Segments do not add up to provided total file size.');
  }
  return { data: { expires_at: Math.floor(expiresAtMs / 1000) } };
}

function choose(
  ids: readonly string[],
  find: (id: string) => Upload,
  isReady: (upload: Upload) => boolean,
): readonly XFile[] {
  try {
    const chosen = ids.map(find);
    const isMixed = chosen.length > 1 && chosen.some(({ category }) => category !== 'tweet_image');
    if (!isMixed && chosen.length <= maxPerPost && chosen.every(isReady)) {
      return chosen.flatMap(({ file }) => file ?? []);
    }
  } catch {
    // X does not report which id is invalid.
  }
  throw invalid('Your media IDs are invalid.');
}
