import { fileTypes, type Files } from '../files.ts';
import type { Attachment } from './post.ts';
import { Refusal } from '../refusal.ts';
import { nextStatusId } from './next-status-id.ts';

/** How many files wait for their status at one time. The oldest are forgotten, as a server forgets them after a day. */
const maxWaiting = 100;
export const maxPerStatus = 4;

export type Attachments = {
  /** Keeps a file for a status that is to come. @throws Refusal 422 for what no browser can show. */
  add(bytes: Buffer, description: string | null): Promise<Attachment>;
  find(id: string): Attachment | undefined;
  /**
   * The files with these ids, for one status.
   *
   * @throws Refusal 422 when one is unknown or has its status, or when they are too many or do not go together.
   */
  choose(ids: readonly string[]): Attachment[];
  /** A status has them: no other may. */
  use(attachments: readonly Attachment[]): void;
};

/** Files that were uploaded and have no status yet. A restart forgets them. */
export function createAttachments(files: Files, now: () => number): Attachments {
  const waiting = new Map<string, Attachment>();
  let lastId: string | undefined;
  return {
    async add(bytes, description) {
      const stored = await files.put(bytes);
      if (stored === null) {
        throw new Refusal(422, `Validation failed: The sandbox keeps ${fileTypes.join(', ')}`);
      }
      lastId = nextStatusId(now(), lastId);
      const { cid, type } = stored;
      const attachment = { id: lastId, cid, type, description };
      waiting.set(lastId, attachment);
      for (const oldest of waiting.keys()) {
        if (waiting.size <= maxWaiting) {
          break;
        }
        waiting.delete(oldest);
      }
      return attachment;
    },
    find: (id) => waiting.get(id),
    choose(ids) {
      const chosen = [...new Set(ids)].map((id) => waiting.get(id));
      const known = chosen.filter((attachment) => attachment !== undefined);
      if (known.length < chosen.length) {
        throw new Refusal(422, 'Validation failed: A media attachment was not found');
      }
      const hasVideo = known.some(({ type }) => type.startsWith('video/'));
      if (known.length > (hasVideo ? 1 : maxPerStatus)) {
        throw new Refusal(
          422,
          `Validation failed: A status has up to ${maxPerStatus} images or one video`,
        );
      }
      return known;
    },
    use(attachments) {
      for (const { id } of attachments) {
        waiting.delete(id);
      }
    },
  };
}
