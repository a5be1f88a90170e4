import type { SandboxDeps } from '../deps.ts';
import { fileTypes } from '../files.ts';
import type { Attachment } from './post.ts';
import { createProcessing } from '../processing.ts';
import { Refusal } from '../refusal.ts';
import { inspectFile } from '../inspect-file.ts';
import { nextStatusId } from './next-status-id.ts';

/** The most files waiting for a status. The oldest are dropped, as a server drops them after a day. */
const maxWaiting = 100;
export const maxPerStatus = 4;
/** In characters. */
export const maxDescription = 1500;

/** Mastodon's own limits. */
export const maxVideoFrameRate = 120;
export const maxImagePixels = 33_177_600;
export const maxVideoPixels = 8_294_400;

export type Attachments = {
  /** Stores a file for a later status. @throws Refusal 422 for a type that browsers cannot show. */
  add(bytes: Buffer, description: string | null): Promise<Attachment>;
  find(id: string): Attachment | undefined;
  /** Whether it is ready for a status. */
  isReady(id: string): boolean;
  /** The same for a client's poll, which advances the processing. @throws Refusal 422 when it failed. */
  poll(id: string): boolean;
  /**
   * Returns the files with these ids for one status.
   *
   * @throws Refusal 422 when a file is unknown, not ready or used by a status, or when there are too many or a
   * forbidden mixture.
   */
  choose(ids: readonly string[]): Attachment[];
  /** Marks the files as used by a status. */
  use(attachments: readonly Attachment[]): void;
};

/** Uploaded files without a status, in memory only. */
export function createAttachments({ files, script, now }: SandboxDeps): Attachments {
  const waiting = new Map<string, Attachment>();
  const processing = createProcessing(script);
  const isReady = (id: string): boolean => processing.stateOf(id) === 'ready';
  let lastId: string | undefined;
  return {
    async add(bytes, description) {
      if ((description ?? '').length > maxDescription) {
        const message = `Validation failed: Description is too long (maximum is ${maxDescription} characters)`;
        throw new Refusal(422, message);
      }
      const stored = await files.put(bytes);
      if (stored === null) {
        throw new Refusal(422, `Validation failed: The sandbox keeps ${fileTypes.join(', ')}`);
      }
      const { cid, type } = stored;
      await assertTaken(bytes, type);
      lastId = nextStatusId(now(), lastId);
      const attachment = { id: lastId, cid, type, description };
      waiting.set(lastId, attachment);
      const texts = [description ?? ''];
      processing.begin(lastId, { network: 'mastodon', texts, key: cid });
      for (const oldest of waiting.keys()) {
        if (waiting.size <= maxWaiting) {
          break;
        }
        waiting.delete(oldest);
        processing.forget(oldest);
      }
      return attachment;
    },
    find: (id) => waiting.get(id),
    isReady,
    poll(id) {
      const state = processing.poll(id);
      if (state === 'failed') {
        throw new Refusal(422, 'Error processing thumbnail for uploaded media');
      }
      return state === 'ready';
    },
    choose(ids) {
      const known = [...new Set(ids)].map((id) => waiting.get(id) ?? notThere());
      if (!known.every(({ id }) => isReady(id))) {
        throw new Refusal(
          422,
          'Cannot attach files that have not finished processing. Try again in a moment!',
        );
      }
      assertTogether(known);
      return known;
    },
    use(attachments) {
      for (const { id } of attachments) {
        waiting.delete(id);
      }
    },
  };
}

/** @throws Refusal 422 */
async function assertTaken(bytes: Buffer, type: string): Promise<void> {
  const { width, height, framesPerSecond } = await inspectFile(bytes, type);
  if (Math.floor(framesPerSecond ?? 0) > maxVideoFrameRate) {
    throw new Refusal(422, `Validation failed: ${framesPerSecond}fps videos are not supported`);
  }
  const most = type.startsWith('video/') ? maxVideoPixels : maxImagePixels;
  if ((width ?? 0) * (height ?? 0) > most) {
    throw new Refusal(422, `Validation failed: ${width}x${height} files are not supported`);
  }
}

function notThere(): never {
  throw new Refusal(422, 'Validation failed: A media attachment was not found');
}

function assertTogether(files: readonly Attachment[]): void {
  const hasVideo = files.some(({ type }) => type.startsWith('video/'));
  if (files.length > (hasVideo ? 1 : maxPerStatus)) {
    throw new Refusal(
      422,
      `Validation failed: A status has up to ${maxPerStatus} images or one video`,
    );
  }
}
