import { recordAudit, type Actor } from '../../db/audit.ts';
import type { MediaFile } from '../../db/entities/media.ts';
import {
  channelThatNames,
  deleteUnused,
  leaveDefaults,
  postThatKeeps,
} from '../../db/media-use.ts';
import type { Em } from '../../db/orm.ts';
import {
  abandonUnclaimed,
  deletedWithBytes,
  findMedia,
  lockMedia,
  selectMedia,
} from '../../db/repositories/media.ts';
import { reaches } from '../../domain/api-keys.ts';
import { AppError } from '../../domain/errors.ts';
import { describeError } from '../../runtime/logger.ts';
import { repeat } from '../../runtime/timers.ts';
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

type Deps = Pick<ServiceDeps, 'orm' | 'log' | 'media'>;

const everyMs = 60 * 60_000;

/** Files per statement or transaction, to keep locks short. */
const batch = 100;

/** After this many failed removals the storage counts as unavailable, and the rest waits for the next sweep. */
const mostFailures = 20;

/**
 * Removes files that a crash, a lost response or a storage outage left behind. A failed step does not stop the others.
 */
export async function sweepMedia(deps: Deps): Promise<void> {
  const { log, media } = deps;
  const pass = (what: string, step: () => Promise<unknown>): Promise<unknown> =>
    step().catch((error: unknown) => log.warn({ error: describeError(error) }, what));

  await pass('sweep of the staging folder failed', () =>
    media.staging.sweep((file, error) =>
      log.warn({ error: describeError(error), file }, 'staged file not removed'),
    ),
  );
  await pass('unused files not deleted', () => removeUnused(deps, media.keepUnusedDays));
  await pass('unclaimed files not removed', () => removeStale(deps));
}

/** Removes files that a request began to store more than an hour ago, and the bytes of deleted files. */
async function removeStale(deps: Deps): Promise<void> {
  const em = deps.orm.em.fork();
  await abandonUnclaimed(em);
  for (let failures = 0, after = '00000000-0000-0000-0000-000000000000'; ;) {
    const ids = await deletedWithBytes(em, after, batch);
    failures += await removeBytes(deps, ids);
    const last = ids.at(-1);
    if (last === undefined || failures >= mostFailures) {
      return;
    }

    after = last;
  }
}

export const keepSwept = (deps: Deps) =>
  repeat(async () => {
    await sweepMedia(deps);
    return everyMs;
  });

/** Limit per sweep; the rest follows in the next ones. */
const mostBatches = 100;

/** Deletes files that are older than `days` and unused, as `DELETE /media/{id}` does. */
async function removeUnused(deps: Deps, days: number): Promise<void> {
  if (days === 0) {
    return;
  }

  for (let round = 0; round < mostBatches; round += 1) {
    const ids = await deps.orm.em.fork().transactional((em) => deleteUnused(em, days, batch));
    if (ids.length === 0) {
      return;
    }

    deps.log.info({ files: ids }, `deleted files unused for ${days} days`);
    await removeBytes(deps, ids);
  }
}
