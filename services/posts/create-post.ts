import { newId } from '../../db/new-id.ts';
import { assertMaySchedule, assertPostChannels } from '../../domain/api-keys.ts';
import { AppError } from '../../domain/errors.ts';
import { assertHasPlan } from '../../domain/quotas.ts';
import type { ContentFault } from '../../domain/warnings.ts';
import type { PostToSync } from '../../domain/to-sync.ts';
import type { Caller } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { findReplayed, KeyTakenError, type RequestKey } from '../idempotency.ts';
import { downloadMedia } from '../media/download-media.ts';
import { checkRequest } from './check-request.ts';
import { postContentOf, requestWarnings } from './content.ts';
import { withExternalId } from './labels.ts';
import type { PostInput } from './post-request.ts';
import { downloadsOf, placeFiles } from './read-files.ts';
import { storePost } from './store-post.ts';

export type CreateDeps = Pick<ServiceDeps, 'orm' | 'now' | 'log' | 'rules' | 'media' | 'publicUrl'>;

export type Created = {
  readonly postId: string;
  /** The key created the post before; nothing was stored. */
  readonly replayed: boolean;
  readonly toSync: PostToSync | null;
};

type CreateOptions = {
  readonly signal?: AbortSignal;
  /** Warnings about the post as a whole, before those about the request. */
  readonly notes?: readonly ContentFault[];
};

/**
 * Stores a draft or a scheduled post. Everything is committed before the caller syncs it with Temporal: after a crash
 * in between, the relay picks up the row.
 */
export async function createPost(
  deps: CreateDeps,
  caller: Caller,
  input: PostInput,
  key: RequestKey | undefined,
  options: CreateOptions = {},
): Promise<Created> {
  assertPostChannels(caller, input.channel_ids ?? []);
  const earlier = await replayedPost(deps, caller, key);
  if (earlier) {
    return earlier;
  }

  try {
    return await makePost(deps, caller, input, key, options);
  } catch (error) {
    if (error instanceof KeyTakenError) {
      return createPost(deps, caller, input, key, options);
    }

    // The same request may have used up the quota, or the external id, a moment ago.
    const isUsedUp = error instanceof AppError && usedUp.has(error.code);
    const made = isUsedUp ? await replayedPost(deps, caller, key) : null;
    if (made) {
      return made;
    }

    throw error;
  }
}

export async function replayedPost(
  { orm, now }: CreateDeps,
  caller: Caller,
  key: RequestKey | undefined,
): Promise<Created | null> {
  const postId = key && (await findReplayed(orm.em.fork(), caller, key, now()));
  return postId ? { postId, replayed: true, toSync: null } : null;
}

const usedUp: ReadonlySet<string> = new Set(['quota_exceeded', 'external_id_taken']);

/** @throws KeyTakenError when another request with this key has committed a post. */
async function makePost(
  deps: CreateDeps,
  caller: Caller,
  input: PostInput,
  key: RequestKey | undefined,
  { signal, notes = [] }: CreateOptions,
): Promise<Created> {
  assertHasPlan(caller);
  const em = deps.orm.em.fork();
  const { workspaceId, requestId } = caller;
  const { urls, dueAt, channels, optionFiles } = await checkRequest(deps, em, workspaceId, input);
  if (dueAt) {
    assertMaySchedule(caller);
  }

  const id = newId();
  const downloaded = await downloadMedia(deps, caller, urls, signal);
  try {
    const downloads = downloadsOf(urls, downloaded.files);
    const content = postContentOf(input, downloads);
    const post = {
      id,
      dueAt,
      input,
      content,
      files: placeFiles(input, downloads),
      optionFiles,
      notes: [...notes, ...requestWarnings(deps.rules, channels, input, content)],
      key,
    };
    await withExternalId(em, caller, input, () =>
      storePost(deps, caller, channels, post, downloaded),
    );
  } finally {
    await downloaded.removeUnclaimed();
  }

  const toSync = dueAt && {
    workspaceId,
    postId: id,
    status: 'scheduled',
    revision: 1,
    dueAt: dueAt.toISOString(),
    requestId,
  };
  return { postId: id, replayed: false, toSync };
}
