import { isDeepStrictEqual } from 'node:util';
import { LockMode } from '@mikro-orm/core';
import { Post } from '../../db/entities/post.ts';
import type { Em } from '../../db/orm.ts';
import { dueTime } from '../../domain/due-time.ts';
import { AppError } from '../../domain/errors.ts';
import type { Quotas } from '../../domain/quotas.ts';
import type { PostToSync } from '../../temporal/sync-post.ts';
import type { ApiDeps } from '../deps.ts';
import type { Caller } from '../http/route.ts';
import { downloadMedia } from '../media/download-media.ts';
import type { MediaToInsert } from '../media/store-files.ts';
import { takeQuota, withRecount } from '../quotas/post-quota.ts';
import { checkTexts, mustSaySomething } from './check-texts.ts';
import { editChannels, endWithout, type EditedChannels } from './edit-channels.ts';
import { editMedia, mustBeComplete, type EditedMedia } from './edit-media.ts';
import { judgePost, mustBePublishable, warningFor, type Judgement } from './judge-post.ts';
import { keepLiveParts } from './keep-live-parts.ts';
import { mustHavePlan } from './must-have-plan.ts';
import { editedContent, textBytes, type PostContent } from './post-content.ts';
import type { EditPostBody } from './schemas.ts';
import { stopChannels, stopFinishing } from './stop-channels.ts';
import { writeChannels } from './write-channels.ts';

type Edit = {
  readonly postId: string;
  readonly request: EditPostBody;
  /** Undefined: the time stays as it is. Null: the post becomes a draft. */
  readonly dueAt: Date | null | undefined;
  readonly downloaded: MediaToInsert;
  readonly quotas: Quotas;
  /** From `withRecount`. */
  readonly recounts: boolean;
};

/**
 * Changes the sent fields of a draft or a scheduled post. The post's row lock keeps this and the start of
 * publishing apart: whichever comes second sees the other's result.
 *
 * @param signal Aborts when nobody waits for the answer any more: downloads end then.
 * @throws AppError with one of the codes that the route lists; then nothing has changed.
 */
export async function editPost(
  deps: ApiDeps,
  caller: Caller,
  postId: string,
  request: EditPostBody,
  signal?: AbortSignal,
): Promise<void> {
  mustHavePlan(caller);
  checkTexts(request);
  const { workspaceId, quotas } = caller;
  const isTimed = request.scheduled_at !== undefined || request.schedule_in_minutes !== undefined;
  const dueAt = isTimed ? dueTime(request, deps.now()) : undefined;
  // Before anything is downloaded for it.
  mustBeEditable(await deps.orm.em.fork().findOne(Post, { id: postId, workspaceId }), postId);
  const downloaded = await downloadMedia(deps, caller, request.media_urls ?? [], signal);
  try {
    const edit = { postId, request, dueAt, downloaded, quotas };
    const changed = await withRecount((recounts) =>
      deps.orm.em
        .fork()
        .transactional((em) => applyEdit(deps, em, workspaceId, { ...edit, recounts })),
    );
    if (changed) {
      deps.syncPost(changed);
    }
  } finally {
    await downloaded.removeUnclaimed();
  }
}

/** @returns what Temporal must hear of, if anything. */
async function applyEdit(
  deps: ApiDeps,
  em: Em,
  workspaceId: string,
  edit: Edit,
): Promise<PostToSync | null> {
  const { postId, request, dueAt: newDueAt, quotas, recounts } = edit;
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const post = mustBeEditable(
    await em.findOne(Post, { id: postId, workspaceId }, { lockMode }),
    postId,
  );
  const dueAt = newDueAt === undefined ? post.scheduledAt : newDueAt;
  if (dueAt === null && post.status === 'scheduled') {
    await stopChannels(em, { workspaceId, postId });
  }

  const channels = await editChannels(em, post, request);
  const { body, thread, video } = post;
  const before = { body, thread, video, overrides: channels.overrides };
  const content = editedContent(before, request);
  const media = await editMedia(em, post, edit, deps.now());
  if (dueAt === null && (hasMedia(request) || !isDeepStrictEqual(content, before))) {
    await stopFinishing(em, post);
  }

  const missing = mustBeComplete(media, dueAt !== null);
  mustSaySomething(content, media.files.length + media.deleted.length);
  const judgements = await judgeEdited(em, deps, channels, content, media.files, dueAt !== null);
  const status = dueAt ? 'scheduled' : 'draft';
  const { overrides } = content;
  const ownBytes = await writeChannels(em, post, channels, { status, overrides, judgements });
  const change = changeOf(post, status, content, ownBytes);
  await takeQuota(em, { workspaceId, quotas }, postId, change, recounts);
  const timeChanged = dueAt?.getTime() !== post.scheduledAt?.getTime();
  if (dueAt && post.status === 'draft') {
    // A try that began before a cancel may go on at any time, though nothing of it is in the ledger: it must not take
    // its old text for this publishing's.
    post.run += 1;
  }

  Object.assign(post, {
    body: content.body,
    thread: content.thread,
    video: content.video,
    scheduledAt: dueAt,
    status,
    retriedAt: null,
    warning: [missing, warningFor(judgements)].filter(Boolean).join(' ') || null,
    revision: timeChanged ? post.revision + 1 : post.revision,
    updatedAt: deps.now(),
  } satisfies Partial<Post>);
  const networks = channels.open.map(({ platform }) => platform);
  await endWithout(em, post, channels, { publicUrl: deps.publicUrl, now: deps.now() });
  const isUnfinished = status === 'draft' && channels.sending.length > 0;
  return timeChanged ? { ...toSync(post), networks, isUnfinished } : null;
}

/** @param ownBytes By how much the channels' own texts grow. */
const changeOf = (
  post: Post,
  status: 'scheduled' | 'draft',
  content: PostContent,
  ownBytes: number,
) => ({
  scheduled: Number(status === 'scheduled') - Number(post.status === 'scheduled'),
  drafts: Number(status === 'draft') - Number(post.status === 'draft'),
  text_bytes:
    textBytes({ ...content, overrides: {} }) - textBytes({ ...post, overrides: {} }) + ownBytes,
});

const hasMedia = ({ media_ids: ids, media_urls: urls }: EditPostBody): boolean =>
  ids !== undefined || urls !== undefined;

/** @throws AppError `no_channels` or `invalid_content` when it is to be scheduled and cannot be. */
async function judgeEdited(
  em: Em,
  { rules }: ApiDeps,
  { open, sending, kept }: EditedChannels,
  content: PostContent,
  files: EditedMedia['files'],
  isScheduled: boolean,
): Promise<Judgement[]> {
  const judged = judgePost(rules, open, content, files);
  const judgements = await keepLiveParts(em, rules, kept, content, judged);
  if (isScheduled && open.length + sending.length === 0 && kept.size > 0) {
    throw new AppError(
      'no_channels',
      'Every channel of the post has it, or may have it: there is none left to send it to. An unconfirmed channel can be settled, and a new post be made for all.',
    );
  }

  if (isScheduled) {
    const unjudged = sending.map((channel) => ({ channel, errors: [], warnings: [], texts: [] }));
    const inFlight = await keepLiveParts(em, rules, kept, content, unjudged);
    mustBePublishable([...judgements, ...inFlight]);
  }

  return judgements;
}

const toSync = ({ workspaceId, id, status, revision, scheduledAt }: Post): PostToSync => ({
  workspaceId,
  postId: id,
  status,
  revision,
  dueAt: scheduledAt?.toISOString() ?? null,
});

/** @throws AppError `not_found` or `post_not_editable`. */
function mustBeEditable(post: Post | null, id: string): Post {
  if (!post) {
    throw new AppError('not_found', `There is no post "${id}".`);
  }

  if (post.status !== 'draft' && post.status !== 'scheduled') {
    throw new AppError(
      'post_not_editable',
      `The post is ${post.status}; only a draft or a scheduled post can be changed.`,
    );
  }

  return post;
}
