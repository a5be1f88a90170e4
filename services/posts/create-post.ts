import { newId } from '../../db/new-id.ts';
import type { Em } from '../../db/orm.ts';
import { assertMaySchedule, assertPostChannels } from '../../domain/api-keys.ts';
import { dueTime } from '../../domain/due-time.ts';
import { AppError } from '../../domain/errors.ts';
import { assertHasPlan } from '../../domain/quotas.ts';
import type { ContentFault } from '../../domain/warnings.ts';
import type { PostToSync } from '../../domain/to-sync.ts';
import type { Caller } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { findReplayed, type RequestKey } from '../idempotency.ts';
import { downloadMedia } from '../media/download-media.ts';
import { assertForChosen, filesInDefaults } from './channel-options.ts';
import { chooseChannels } from './choose-channels.ts';
import {
  assertNotEmpty,
  assertTexts,
  postContentOf,
  requestWarnings,
  type PostInput,
} from './content.ts';
import { givenFiles, givenUrls, partsWithFiles, withDownloads } from './given-files.ts';
import { labelsOf, withExternalId } from './labels.ts';
import { storePost } from './store-post.ts';

export type CreateDeps = Pick<ServiceDeps, 'orm' | 'now' | 'log' | 'rules' | 'media' | 'publicUrl'>;

export type Created = {
  readonly postId: string;
  /** The key created the post before; nothing was stored. */
  readonly replayed: boolean;
  readonly toSync: PostToSync | null;
};

type CreateOptions = {
  /** Aborts downloads when the client hangs up. */
  readonly signal?: AbortSignal;
  /** Warnings about the post as a whole, before those about the request. */
  readonly notes?: readonly ContentFault[];
};

/**
 * Stores a draft or a scheduled post. Everything is committed before the caller syncs it with Temporal: after a crash
 * in between, the relay picks up the row.
 *
 * @param key The idempotency key, if sent.
 * @throws AppError with one of the codes that the route lists; nothing is stored then.
 */
export async function createPost(
  deps: CreateDeps,
  caller: Caller,
  input: PostInput,
  key: RequestKey | undefined,
  options: CreateOptions = {},
): Promise<Created> {
  assertPostChannels(caller, input.channelIds ?? []);
  const replayed = async (): Promise<Created | null> => {
    const postId = key && (await findReplayed(deps.orm.em.fork(), caller, key, deps.now()));
    return postId ? { postId, replayed: true, toSync: null } : null;
  };
  const earlier = await replayed();
  if (earlier) {
    return earlier;
  }

  try {
    const created = await makePost(deps, caller, input, key, options);
    // Null: another request with this key has committed a post.
    return created ?? (await createPost(deps, caller, input, key, options));
  } catch (error) {
    // The same request may have used up the quota, or the external id, a moment ago.
    const isUsedUp = error instanceof AppError && usedUp.has(error.code);
    const made = isUsedUp ? await replayed() : null;
    if (made) {
      return made;
    }

    throw error;
  }
}

const usedUp: ReadonlySet<string> = new Set(['quota_exceeded', 'external_id_taken']);

/** @returns null when another request took the key. */
async function makePost(
  deps: CreateDeps,
  caller: Caller,
  input: PostInput,
  key: RequestKey | undefined,
  { signal, notes = [] }: CreateOptions,
): Promise<Created | null> {
  const em = deps.orm.em.fork();
  const { urls, dueAt, channels, optionFiles } = await checkRequest(deps, em, caller, input);
  const downloaded = await downloadMedia(deps, caller, urls, signal);
  const whole = withDownloads(input, urls, downloaded.files);
  const labels = labelsOf(input);
  const content = postContentOf(whole);
  const post = {
    id: newId(),
    dueAt,
    timezone: input.timezone ?? null,
    content,
    labels,
    media: givenFiles(whole),
    optionFiles,
    notes: [...notes, ...requestWarnings(input, content)],
    key,
  };
  try {
    const isStored = await withExternalId(em, caller, labels, () =>
      storePost(deps, caller, channels, post, downloaded),
    );
    if (!isStored) {
      return null;
    }
  } finally {
    await downloaded.removeUnclaimed();
  }

  const toSync = dueAt && {
    workspaceId: caller.workspaceId,
    postId: post.id,
    status: 'scheduled',
    revision: 1,
    dueAt: dueAt.toISOString(),
    requestId: caller.requestId,
  };
  return { postId: post.id, replayed: false, toSync };
}

/** Validates whatever does not depend on the files of URLs, so that a refused request downloads none. */
async function checkRequest(deps: CreateDeps, em: Em, caller: Caller, input: PostInput) {
  assertHasPlan(caller);
  assertTexts(input);
  const urls = givenUrls(input);
  const withoutUrls = withDownloads(input, urls, []);
  const content = postContentOf(withoutUrls);
  const filled = { parts: partsWithFiles(input), channels: input.channelMedia ?? {} };
  assertNotEmpty(content, filled, input.channelIds ?? [], input);
  const dueAt = dueTime(input, deps.now());
  if (dueAt) {
    assertMaySchedule(caller);
  }

  const channels = await chooseChannels(em, caller.workspaceId, input.channelIds ?? []);
  const optionFiles = [
    ...(await assertForChosen(deps.rules, channels, input)),
    ...filesInDefaults(deps.rules, channels, content.options),
  ];
  return { urls, dueAt, channels, optionFiles };
}
