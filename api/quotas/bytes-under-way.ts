import { countMedia } from '../../db/quota-use.ts';
import type { Em } from '../../db/orm.ts';
import { quotaExceeded } from '../../domain/quotas.ts';
import { mustHaveMediaRoom } from './media-room.ts';
import type { RoomOwner } from './take-room.ts';

/** How many bytes of each workspace have come to this process that do not count in its library yet. */
export type BytesUnderWay = Map<string, number>;

/** After how many bytes of a request the disk and the library are looked at again. */
const stepBytes = 4 * 1024 * 1024;

/** The files of a request, from their first byte until the library counts them or they are removed. */
export type ComingFiles = {
  /**
   * Lets bytes through to where they are written, and counts them before.
   *
   * @throws AppError `quota_exceeded` or `unavailable` when there is no room for what comes, from then on for every
   *   file of the request. Then it counts no more, so that of several requests the last one has the room.
   */
  readonly through: (bytes: AsyncIterable<Buffer>) => AsyncIterable<Buffer>;
  /** Counts them no more. To be called in the end, whatever happened; a second time does nothing. */
  readonly release: () => void;
};

/**
 * Asks for room for a request's files before they come, and holds them against the quota and the disk as they do,
 * together with all that is under way for their workspace. Whether they have room in the end `keepMediaRoom` says.
 *
 * @param em A fork of its own.
 * @param count How many files there will be.
 * @throws AppError `quota_exceeded` or `unavailable` when there is certainly no room for them.
 */
export async function expectFiles(
  em: Em,
  media: { readonly underWay: BytesUnderWay; readonly mustHaveDisk: () => Promise<void> },
  owner: RoomOwner,
  count: number,
): Promise<ComingFiles> {
  const { workspaceId, quotas } = owner;
  const part = partOf(media.underWay, workspaceId);
  let [stored, unlooked] = [0, 0];
  let end: unknown = null;
  const release = (reason: unknown = new Error('The request is over.')): void => {
    end ??= reason;
    part.release();
  };
  const hasRoom = (): boolean => stored + part.ofAll() <= quotas.media_bytes;
  const take = async (bytes: number): Promise<void> => {
    part.add(bytes);
    unlooked += bytes;
    if (unlooked >= stepBytes || !hasRoom()) {
      unlooked = 0;
      await media.mustHaveDisk();
      stored = (await countMedia(em, workspaceId)).media_bytes;
    }

    if (end === null && !hasRoom()) {
      // In the same moment, or two that do not fit together would both be refused.
      release(quotaExceeded('media_bytes', quotas.media_bytes, stored + part.ofOthers()));
    }
  };

  if (count > 0) {
    stored = await mustHaveMediaRoom(em, owner, count, part.ofAll());
    await media.mustHaveDisk();
  }

  async function* through(bytes: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    for await (const piece of bytes) {
      if (end === null) {
        await take(piece.length).catch(release);
      }

      if (end !== null) {
        throw end;
      }

      yield piece;
    }
  }

  return { through, release: () => release() };
}

/** What a request adds to the bytes that are under way for its workspace. */
function partOf(underWay: BytesUnderWay, workspaceId: string) {
  let own = 0;
  const ofAll = (): number => underWay.get(workspaceId) ?? 0;
  const add = (bytes: number): void => {
    own += bytes;
    const sum = ofAll() + bytes;
    if (sum === 0) {
      underWay.delete(workspaceId);
    } else {
      underWay.set(workspaceId, sum);
    }
  };
  return { add, ofAll, ofOthers: () => ofAll() - own, release: () => add(-own) };
}
