import { newId } from '../../db/new-id.ts';
import { dueTime, timeWarning } from '../../domain/due-time.ts';
import { AppError } from '../../domain/errors.ts';
import { assertHasPlan } from '../../domain/quotas.ts';
import type { ApiDeps } from '../deps.ts';
import type { Caller } from '../http/route.ts';
import { downloadMedia } from '../media/download-media.ts';
import { assertForChosen, filesInDefaults } from './channel-options.ts';
import { chooseChannels } from './choose-channels.ts';
import { countNamed, givenFiles } from './given-files.ts';
import { findReplayed, fingerprint } from './idempotency.ts';
import { assertNotEmpty, assertTexts, postContentOf } from './post-content.ts';
import type { CreatePostBody } from './schemas.ts';
import { storePost, type NewPost } from './store-post.ts';
import { assertPublishable, validateContent } from './validate-content.ts';

export type CreatePostResult = { readonly postId: string; readonly replayed: boolean };

/**
 * Stores a draft or a scheduled post and syncs it with Temporal. Everything is committed before Temporal is notified:
 * after a crash in between, the relay picks up the row.
 *
 * @param signal Aborts downloads when the client hangs up.
 * @throws AppError with one of the codes that the route lists; nothing is stored then.
 */
export async function createPost(
  deps: ApiDeps,
  caller: Caller,
  request: CreatePostBody,
  key: string | undefined,
  signal?: AbortSignal,
): Promise<CreatePostResult> {
  const print = fingerprint(request);
  const replayed = async (): Promise<CreatePostResult | null> => {
    const em = deps.orm.em.fork();
    const postId = key && (await findReplayed(em, caller.workspaceId, key, print));
    return postId ? { postId, replayed: true } : null;
  };
  const earlier = await replayed();
  if (earlier) {
    return earlier;
  }

  try {
    const postId = await makePost(deps, caller, request, { key, print }, signal);
    // Null: another request with this key has committed a post.
    return postId === null
      ? await createPost(deps, caller, request, key, signal)
      : { postId, replayed: false };
  } catch (error) {
    // The same request may have used up the quota a moment ago.
    const isFull = error instanceof AppError && error.code === 'quota_exceeded';
    const made = isFull ? await replayed() : null;
    if (made) {
      return made;
    }

    throw error;
  }
}

/** @returns the post's id; null when another request took the key. */
async function makePost(
  deps: ApiDeps,
  caller: Caller,
  request: CreatePostBody,
  { key, print }: Pick<NewPost, 'key' | 'print'>,
  signal: AbortSignal | undefined,
): Promise<string | null> {
  const { workspaceId } = caller;
  const em = deps.orm.em.fork();
  assertHasPlan(caller);
  assertTexts(request);
  const { media_urls: mediaUrls = [] } = request;
  const media = givenFiles(request);
  const files = countNamed(media) + mediaUrls.length;
  const content = postContentOf(request);
  assertNotEmpty(content, files);
  const dueAt = dueTime(request, deps.now());
  const channels = await chooseChannels(em, workspaceId, request.channel_ids ?? []);
  const optionFiles = [
    ...(await assertForChosen(deps.rules, channels, request)),
    ...filesInDefaults(deps.rules, channels, content.options),
  ];
  if (dueAt && files + optionFiles.length === 0) {
    assertPublishable(validateContent(deps.rules, channels, content, []));
  }

  const note = timeWarning(request);
  const post = { id: newId(), dueAt, content, media, optionFiles, note, key, print };
  const downloaded = await downloadMedia(deps, caller, mediaUrls, signal);
  try {
    if (!(await storePost(deps, caller, channels, post, downloaded))) {
      return null;
    }
  } finally {
    await downloaded.removeUnclaimed();
  }

  if (dueAt) {
    const at = dueAt.toISOString();
    deps.syncPost({
      workspaceId,
      postId: post.id,
      status: 'scheduled',
      revision: 1,
      dueAt: at,
      networks: channels.map(({ platform }) => platform),
    });
  }

  return post.id;
}
