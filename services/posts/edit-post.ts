import { recordAudit } from '../../db/audit.ts';
import type { Post } from '../../db/entities/posts.ts';
import type { Em } from '../../db/orm.ts';
import { countTextBytes, flushWithQuota, takeQuota } from '../../db/quotas.ts';
import { recordPostEvent } from '../../db/record-event.ts';
import { finalizeIfPublished } from '../../db/refinalize-post.ts';
import { findPost, lockPost, type WholePost } from '../../db/repositories/posts.ts';
import { sameTextWarnings } from '../../db/same-text.ts';
import { assertPostChannels, assertMaySchedule, assertReaches } from '../../domain/api-keys.ts';
import { stopChannels } from '../../domain/channel-changes.ts';
import { dueTime, withLocalTime } from '../../domain/due-time.ts';
import { AppError } from '../../domain/errors.ts';
import { plainFault, type ContentFault } from '../../domain/warnings.ts';
import { assertHasPlan } from '../../domain/quotas.ts';
import type { PostToSync } from '../../domain/to-sync.ts';
import type { Caller } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { downloadMedia } from '../media/download-media.ts';
import type { MediaToInsert } from '../media/store-files.ts';
import { assertOptionsOf, fileIdsOf, filesInDefaults } from './channel-options.ts';
import { nameOfChannel, namesOfChannels, settleFirst } from './choose-channels.ts';
import {
  assertNotEmpty,
  assertTexts,
  editedContent,
  movedTo,
  requestWarnings,
  type PostContent,
} from './content.ts';
import { editChannels, writeChannels, type EditedChannels } from './edit-channels.ts';
import { assertNoneDeleted, editPostMedia, type EditedMedia } from './edit-media.ts';
import { editedLabels, withExternalId } from './labels.ts';
import { filesOfChannels } from './post-media.ts';
import type { PostInput } from './post-request.ts';
import { downloadsOf, givenUrls, type Downloads } from './read-files.ts';
import { warningsOfPost } from './validate-content.ts';
import { validateEdit } from './validate-edit.ts';

type Deps = Pick<ServiceDeps, 'orm' | 'now' | 'log' | 'rules' | 'media' | 'publicUrl'>;

type Edit = {
  readonly postId: string;
  readonly input: PostInput;
  readonly now: Date;
  readonly downloaded: MediaToInsert;
  readonly downloads: Downloads;
};

/**
 * Changes the sent fields of a draft or a scheduled post. The post's row lock serialises this with the claim.
 *
 * @returns the post to sync with Temporal, or null.
 */
export async function editPost(
  deps: Deps,
  caller: Caller,
  postId: string,
  input: PostInput,
  signal?: AbortSignal,
): Promise<PostToSync | null> {
  assertHasPlan(caller);
  assertTexts(input);
  assertReaches(caller, input.channel_ids ?? []);
  const urls = givenUrls(input);
  const { workspaceId } = caller;
  const now = deps.now();
  const before = await findPost(deps.orm.em.fork(), { workspaceId, postId });
  // Before any download.
  assertEditable(before);
  editedTime(input, before.post, now);
  const downloaded = await downloadMedia(deps, caller, urls, signal);
  try {
    const downloads = downloadsOf(urls, downloaded.files);
    const edit = { postId, input, now, downloaded, downloads };
    return await withExternalId(deps.orm.em.fork(), caller, input, () =>
      deps.orm.em.fork().transactional((em) => applyEdit(deps, em, caller, edit)),
    );
  } finally {
    await downloaded.removeUnclaimed();
  }
}

function assertEditable(whole: WholePost): void {
  const { id, status } = whole.post;
  if (status !== 'draft' && status !== 'scheduled') {
    // A copy of a post that is still going out would be published beside it.
    const next =
      status === 'publishing'
        ? `POST /posts/${id}/cancel makes it a draft, except for channels that are being sent.`
        : copyOf(whole);
    const message = `The post is ${status}; only a draft or a scheduled post can be changed. ${next}`;
    throw new AppError('post_not_editable', message);
  }
}

/** The call that copies an ended post to no channel that has it. */
function copyOf({ post: { id }, channels }: WholePost): string {
  const unconfirmed = channels.filter(({ row }) => row.status === 'unconfirmed');
  const failed = channels.filter(({ row }) => row.status === 'failed');
  if (unconfirmed.length > 0) {
    return settleFirst(id, unconfirmed);
  }

  return failed.length > 0 && failed.length < channels.length
    ? `POST /posts/${id}/copy with {"only": "failed"} makes a draft for the channels that failed; the others have the post.`
    : `POST /posts/${id}/copy makes a draft of it.`;
}

/** The due time after an edit, and the request with the local time that a time zone alone keeps. */
function editedTime(input: PostInput, post: Post, now: Date) {
  const timed = withLocalTime(input, post);
  const dueAt = dueTime(timed, now);
  const isTimed = timed.scheduled_at !== undefined || timed.schedule_in_minutes !== undefined;
  return { timed, dueAt: isTimed ? dueAt : post.scheduledAt };
}

/** @returns the post to sync with Temporal, or null. */
async function applyEdit(
  deps: Deps,
  em: Em,
  caller: Caller,
  edit: Edit,
): Promise<PostToSync | null> {
  const { workspaceId, requestId } = caller;
  const { postId, input } = edit;
  const scope = { workspaceId, postId };
  const whole = await lockPost(em, { ...caller, postId });
  assertEditable(whole);
  const { post } = whole;
  const textBefore = await countTextBytes(em, scope.workspaceId, scope.postId);
  const { timed, dueAt } = editedTime(input, post, edit.now);
  if (dueAt) {
    assertMaySchedule(caller);
  } else if (post.status === 'scheduled') {
    stopChannels(whole.channels, deps.now());
  }

  const channels = await editChannels(em, whole, input);
  assertPostChannels(caller, channels.order);
  const { content, media } = await editContent(deps, em, caller, post, channels, edit);
  const missing = assertNoneDeleted(media, dueAt !== null);
  assertNotEmpty(content, media.parts, channels.order, input);
  const validations = await validateEdit(deps.rules, channels, content, media, dueAt !== null);
  const status = dueAt ? 'scheduled' : 'draft';
  const sameTexts = await sameTextWarnings(em, { ...scope, dueAt }, validations);
  writeChannels(em, post, channels, { status, content, dueAt, validations, sameTexts });
  const notes = [
    ...requestWarnings(deps.rules, [...channels.open, ...channels.closed], timed, content),
    ...notesOnFiles(media, missing),
    ...notesOnFields(channels, media, input),
    ...notesOnChannels(channels, input),
    ...movedTo(timed, input, [post.scheduledAt, dueAt]),
  ];
  const wasScheduled = post.status === 'scheduled';
  const scheduled = Number(dueAt !== null) - Number(wasScheduled);
  await takeQuota(em, caller, { scheduled, drafts: -scheduled, text_bytes: 0 });
  const timeChanged = changePost(post, deps.now(), content, {
    status,
    scheduledAt: dueAt,
    ...editedLabels(post, input),
    ...warningsOfPost(validations, notes),
    timezone: input.timezone === undefined ? (post.timezone ?? null) : input.timezone,
  });
  await flushWithQuota(em, caller, postId, textBefore);
  if (timeChanged && (dueAt || wasScheduled)) {
    await recordPostEvent(em, scope, dueAt ? 'post.scheduled' : 'post.cancelled', deps);
  }

  if (channels.removed.length > 0) {
    await finalizeIfPublished(em, scope, deps);
  }

  await recordAudit(em, caller, 'post.edited', postId);
  const isStillSending = status === 'draft' && channels.sending.length > 0;
  return timeChanged ? { ...toSync(post), isStillSending, requestId } : null;
}

/** @param missing Says which files were deleted. */
const notesOnFiles = ({ emptiedParts }: EditedMedia, missing: string | null): ContentFault[] => [
  ...(missing === null ? [] : [plainFault(missing, 'file_missing')]),
  ...emptiedParts.map((part) => {
    const message = `Part ${part + 1} no longer has files: a text in thread replaces a part with its files. To keep them, send the part as an object with media_ids.`;
    return plainFault(message, 'file_missing', `/thread/${part}`);
  }),
];

const ownFields = [
  ['channel_bodies', 'overrides', 'body', ['thread', 'body']],
  ['channel_media', 'channelFiles', 'media', ['media_ids', 'media_urls']],
  ['channel_options', 'options', 'options', []],
] as const;

/** Warnings about what the post loses in fields that the edit replaces as a whole. */
const notesOnFields = (
  { videoBefore, ...before }: EditedChannels,
  { lostAltTexts }: EditedMedia,
  input: PostInput,
): ContentFault[] =>
  [
    ...ownFields.map(([field, own]) => [field, lostBy(input[field], before[own])] as const),
    ...Object.entries(before.options).map(
      ([id, had]) => [`channel_options/${id}`, lostBy(input.channel_options?.[id], had)] as const,
    ),
    ['video', lostBy(input.video, videoBefore)] as const,
    ['alt_texts', lostAltTexts] as const,
  ].flatMap(([field, lost]) => {
    const message = `The edit replaced all of ${field}, also ${lost.join(', ')}. Send everything that should stay.`;
    return lost.length > 0 ? [plainFault(message, 'other', `/${field}`)] : [];
  });

const lostBy = (given: object | null | undefined, had: object | null = null): string[] =>
  given ? Object.keys(had ?? {}).filter((name) => !Object.hasOwn(given, name)) : [];

/** Warnings about channels that keep content of their own, or stay in the post although the request omits them. */
const notesOnChannels = (
  { removed, kept, sending, unchanged, ...before }: EditedChannels,
  { channel_ids: channelIds, ...sent }: PostInput,
): ContentFault[] => [
  ...ownFields.flatMap(([field, own, , ofPost]) => {
    const had = Object.keys(before[own]);
    const given = ofPost.find((name) => sent[field] === undefined && sent[name]);
    const unused = `${given} does not apply to ${had.join(', ')}: their ${field} take precedence. Send ${field} too to change them.`;
    return given && had.length > 0 ? [plainFault(unused, 'field_ignored', `/${given}`)] : [];
  }),
  ...[...sending, ...unchanged].map((channel) => {
    const why = unchanged.includes(channel)
      ? 'has the post as it was: the edit does not apply there.'
      : 'is being sent as it was: the edit applies there only if that fails.';
    return plainFault(`${nameOfChannel(channel)} ${why}`, 'field_ignored');
  }),
  ...removed.flatMap(({ row }) => {
    const fields = ownFields.flatMap(([field, , own]) => (row[own] === null ? [] : [field]));
    const message = `Channel ${row.channelId} left the post, and lost its ${fields.join(', ')}.`;
    return fields.length > 0 ? [plainFault(message, 'other', '/channel_ids')] : [];
  }),
  ...[...kept.values()]
    .filter(({ account }) => channelIds && !channelIds.includes(account.id))
    .map((channel) => {
      const message = `${namesOfChannels([channel])} stays: the post is or may be live there.`;
      return plainFault(message, 'field_ignored', '/channel_ids');
    }),
];

/** Merges the sent texts, options and files into those of the post, and attaches the files. */
async function editContent(
  deps: Deps,
  em: Em,
  owner: Caller,
  post: Post,
  channels: EditedChannels,
  edit: Edit,
) {
  const { input } = edit;
  const all = [...channels.closed, ...channels.open];
  const sent = assertOptionsOf(deps.rules, all, input.channel_options);
  const { body, thread, video } = post;
  const content = editedContent({ ...channels, body, thread, video }, input, edit.downloads);
  const inDefaults = filesInDefaults(deps.rules, channels.open, content.options);
  const ofChannels = filesOfChannels(content);
  const filesApart = {
    sent: [...sent, ...(input.channel_media === undefined ? [] : ofChannels)],
    inDefaults,
    ids: new Set([
      ...fileIdsOf(deps.rules, all, content.options),
      ...ofChannels.map(({ mediaId }) => mediaId),
    ]),
  };
  const media = await editPostMedia(em, post, { ...edit, owner, filesApart }, deps.now());
  return { content, media };
}

/** @returns whether the time changed, in which case the workflow must be synced. */
function changePost(
  post: Post,
  now: Date,
  { body, thread, video }: PostContent,
  change: Partial<Post> & Pick<Post, 'scheduledAt'>,
): boolean {
  const timeChanged = change.scheduledAt?.getTime() !== post.scheduledAt?.getTime();
  if (change.scheduledAt && post.status === 'draft') {
    // An attempt from before the cancel may still send the rest of a thread. A new run keeps it from that.
    post.run += 1;
  }

  const revision = timeChanged ? post.revision + 1 : post.revision;
  const content = { body, thread, video };
  Object.assign(post, { ...content, ...change, retriedAt: null, revision, updatedAt: now });
  return timeChanged;
}

const toSync = ({ workspaceId, id, status, revision, scheduledAt }: Post): PostToSync => ({
  workspaceId,
  postId: id,
  status,
  revision,
  dueAt: scheduledAt?.toISOString() ?? null,
});
