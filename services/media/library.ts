import { recordAudit, type Actor } from '../../db/audit.ts';
import type { MediaFile } from '../../db/entities/media.ts';
import { channelThatNames, leaveDefaults, postThatKeeps } from '../../db/media-use.ts';
import type { Em } from '../../db/orm.ts';
import { findMedia, lockMedia, selectMedia } from '../../db/repositories/media.ts';
import { reaches } from '../../domain/api-keys.ts';
import { AppError } from '../../domain/errors.ts';
import { describeError } from '../../runtime/logger.ts';
import { cutPage, readCursor } from '../cursor.ts';
import type { ServiceDeps } from '../deps.ts';
import { removeBytes } from './store-files.ts';

export const maxMediaPage = 50;

type MediaSearch = {
  readonly type?: 'image' | 'video';
  /** Any part of the name, in any case. */
  readonly search?: string;
  readonly limit?: number;
  readonly cursor?: string;
};

export async function listMedia(
  em: Em,
  workspaceId: string,
  { type, search, limit = maxMediaPage, cursor }: MediaSearch,
): Promise<{ files: MediaFile[]; nextCursor: string | null }> {
  const after = readCursor(cursor);
  const rows = await selectMedia(em, workspaceId, { type, search, after, limit: limit + 1 });
  const { page, nextCursor } = cutPage(rows, limit, (file) => file);
  return { files: [...page], nextCursor };
}

export async function loadMedia(
  em: Em,
  workspaceId: string,
  id: string,
  find = findMedia,
): Promise<MediaFile> {
  const file = await find(em, workspaceId, id);
  if (!file) {
    throw new AppError('not_found', `There is no media file "${id}".`);
  }

  return file;
}

/**
 * Removes a file from the library, and its bytes from the storage. Drafts, ended posts and the defaults of disconnected
 * channels lose the file.
 */
export async function deleteMedia(
  deps: Pick<ServiceDeps, 'orm' | 'now' | 'log' | 'media'>,
  actor: Actor,
  id: string,
): Promise<void> {
  const { orm, now } = deps;
  await orm.em.fork().transactional(async (em) => {
    const file = await loadMedia(em, actor.workspaceId, id, lockMedia);
    await assertUnused(em, actor, file);
    await leaveDefaults(em, file);
    file.deletedAt = now();
    await recordAudit(em, actor, 'media.deleted', id);
  });
  await removeBytes(deps, [id]).catch((error: unknown) =>
    deps.log.warn(
      { error: describeError(error), file: id },
      'file not removed, the next sweep retries',
    ),
  );
}

async function assertUnused(em: Em, actor: Actor, file: MediaFile): Promise<void> {
  const { channelIds = null } = actor;
  const post = await postThatKeeps(em, file, actor);
  if (post) {
    const which = post.id === null ? 'A post of other channels' : `Post ${post.id}`;
    const message = `${which}, which is ${post.status}, uses this file. Edit or delete that post first.`;
    throw new AppError('media_in_use', message);
  }

  const channelId = await channelThatNames(em, file);
  if (channelId !== undefined) {
    const which = reaches({ channelIds }, channelId) ? `channel ${channelId}` : 'another channel';
    throw new AppError('media_in_use', `The defaults of ${which} name this file: edit them first.`);
  }
}
