import { recordAudit } from '../../db/audit.ts';
import type { Post } from '../../db/entities/posts.ts';
import type { Em } from '../../db/orm.ts';
import { takeQuota } from '../../db/quotas.ts';
import { recordPostEvent } from '../../db/record-event.ts';
import { finalizeIfPublished } from '../../db/refinalize-post.ts';
import { findPost, lockPost } from '../../db/repositories/posts.ts';
import { sameTextWarnings } from '../../db/same-text.ts';
import { assertPostChannels, assertMaySchedule, assertReaches } from '../../domain/api-keys.ts';
import { stopChannels } from '../../domain/channel-changes.ts';
import { dueTime, withLocalTime } from '../../domain/due-time.ts';
import { plainFault, type ContentFault, type PostWarning } from '../../domain/warnings.ts';
import { assertHasPlan } from '../../domain/quotas.ts';
import type { PostToSync } from '../../domain/to-sync.ts';
import type { Caller } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { downloadMedia } from '../media/download-media.ts';
import type { MediaToInsert } from '../media/store-files.ts';
import { assertEditable } from './assert-editable.ts';
import { assertOptionsOf, filesInDefaults } from './channel-options.ts';
import { chooseChannels } from './choose-channels.ts';
import {
  assertNotEmpty,
  assertTexts,
  editedContent,
  requestWarnings,
  textBytes,
  type PostContent,
} from './content.ts';
import { editChannels, stayed, writeChannels, type EditedChannels } from './edit-channels.ts';
import { assertNoneDeleted, editPostMedia, type EditedMedia } from './edit-media.ts';
import { editedLabels, withExternalId, type Labels } from './labels.ts';
import { filesOfChannels } from './post-media.ts';
import type { PostInput } from './post-request.ts';
import { downloadsOf, givenUrls, type Downloads } from './read-files.ts';
import { warningsOfPost } from './validate-content.ts';
import { validateEdit } from './validate-edit.ts';

type Deps = Pick<ServiceDeps, 'orm' | 'now' | 'log' | 'rules' | 'media' | 'publicUrl'>;

type Edit = {
  readonly postId: string;
  readonly input: PostInput;
  /** Undefined keeps the time. Null makes the post a draft. */
  readonly dueAt: Date | null | undefined;
  readonly downloaded: MediaToInsert;
  readonly downloads: Downloads;
};

/**
 * Changes the sent fields of a draft or a scheduled post. The post's row lock serialises this with the claim.
 *
 * @param signal Aborts downloads when the client hangs up.
 * @returns the post to sync with Temporal, or null.
 * @throws AppError with one of the codes that the route lists; nothing has changed then.
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
  const isTimed = input.scheduled_at !== undefined || input.schedule_in_minutes !== undefined;
  const before = await findPost(deps.orm.em.fork(), { workspaceId, postId });
  assertEditable(before); // Before any download.
  const asked = dueTime(withLocalTime(input, before.post), deps.now());
  const dueAt = isTimed ? asked : undefined;
  const downloaded = await downloadMedia(deps, caller, urls, signal);
  try {
    const downloads = downloadsOf(urls, downloaded.files);
    const edit = { postId, input, dueAt, downloaded, downloads };
    return await withExternalId(deps.orm.em.fork(), caller, input, () =>
      deps.orm.em.fork().transactional((em) => applyEdit(deps, em, caller, edit)),
    );
  } finally {
    await downloaded.removeUnclaimed();
  }
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
  const timed = withLocalTime(input, post);
  const moved = timed === input ? edit.dueAt : dueTime(timed, deps.now());
  const dueAt = moved === undefined ? post.scheduledAt : moved;
  if (dueAt) {
    assertMaySchedule(caller);
  }

  if (dueAt === null && post.status === 'scheduled') {
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
  const edited = { status, content, dueAt, validations, sameTexts } as const;
  const ownBytes = writeChannels(em, post, channels, edited);
  await takeQuota(em, caller, useChange(post, status, content, ownBytes + media.textBytes));
  const notes = [
    ...notesOn(timed, content, media, missing),
    ...leftWith(channels.removed),
    ...stayed(channels, input),
    ...movedTo(timed, input, post.scheduledAt, dueAt),
  ];
  const { timezone = post.timezone ?? null } = input;
  const wasScheduled = post.status === 'scheduled';
  const labels = editedLabels(post, input);
  const warned = warningsOfPost(validations, notes);
  const change: Change = { content, labels, dueAt, timezone, status, ...warned };
  const timeChanged = changePost(post, change, deps.now());
  await em.flush();
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

/** Warnings about the request as a whole. @param missing Says which files were deleted. */
const notesOn = (
  input: PostInput,
  content: PostContent,
  { emptiedParts }: EditedMedia,
  missing: string | null,
): ContentFault[] => [
  ...requestWarnings(input, content),
  ...(missing === null ? [] : [plainFault(missing, 'file_missing')]),
  ...emptiedParts.map((part) =>
    plainFault(
      `Part ${part + 1} no longer has files: a text in thread replaces a part with its files. To keep them, send the part as an object with media_ids.`,
      'file_missing',
      `/thread/${part}`,
    ),
  ),
];

/** A warning when a time zone without a time moves the post. */
const movedTo = (
  { scheduled_at: local }: PostInput,
  asked: PostInput,
  before: Date | null,
  after: Date | null,
) =>
  local !== asked.scheduled_at && before && after && before.getTime() !== after.getTime()
    ? [
        plainFault(
          `The post keeps its local time ${local} in the new timezone: it was due at ${before.toISOString()}, and is due at ${after.toISOString()}. Send scheduled_at too for another time.`,
          'local_time',
          '/timezone',
        ),
      ]
    : [];

/** Warnings about the content of channels that leave the post. */
const leftWith = (removed: EditedChannels['removed']): ContentFault[] =>
  removed.flatMap(({ row: { channelId, body, media, options } }) => {
    const own = { channel_bodies: body, channel_media: media, channel_options: options };
    const fields = Object.entries(own).flatMap(([field, value]) => (value === null ? [] : [field]));
    const message = `Channel ${channelId} left the post, and lost its ${fields.join(', ')}.`;
    return fields.length > 0 ? [plainFault(message, 'other', '/channel_ids')] : [];
  });

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
  const sent = await assertOptionsOf(deps.rules, input.channel_options, (ids) =>
    chooseChannels(em, post.workspaceId, ids),
  );
  const { body, thread, video } = post;
  const { overrides, options, channelFiles } = channels;
  const before = { body, thread, video, overrides, options, channelFiles };
  const content = editedContent(before, input, edit.downloads);
  const inDefaults = filesInDefaults(deps.rules, channels.open, content.options);
  const ofChannels = input.channel_media === undefined ? [] : filesOfChannels(content);
  const json = optionsJson(channels, content);
  const inOptions = { sent: [...sent, ...ofChannels], inDefaults, json };
  const media = await editPostMedia(em, post, { ...edit, owner, inOptions }, deps.now());
  return { content, media };
}

/** The post's options, merged over the defaults that it keeps, and the channels' own files. */
function optionsJson({ kept, open }: EditedChannels, content: PostContent): string {
  const defaults = new Map([...kept].map(([id, { row }]) => [id, row.defaults]));
  for (const { id, options } of open) {
    defaults.set(id, options);
  }

  const options = [...defaults].map(([id, own]) => Object.assign({}, own, content.options[id]));
  return JSON.stringify([options, content.channelFiles]);
}

type Change = {
  readonly content: PostContent;
  readonly labels: Labels;
  readonly dueAt: Date | null;
  readonly timezone: string | null;
  readonly status: 'scheduled' | 'draft';
  readonly warning: string | null;
  readonly warnings: readonly PostWarning[];
};

/** @returns whether the time changed, in which case the workflow must be synced. */
function changePost(
  post: Post,
  { content: { body, thread, video }, labels, dueAt, timezone, status, warning, warnings }: Change,
  now: Date,
): boolean {
  const timeChanged = dueAt?.getTime() !== post.scheduledAt?.getTime();
  if (dueAt && post.status === 'draft') {
    // An attempt from before the cancel may still send the rest of a thread. A new run keeps it from that.
    post.run += 1;
  }

  Object.assign(post, {
    body,
    thread,
    video,
    ...labels,
    scheduledAt: dueAt,
    timezone,
    status,
    retriedAt: null,
    warning,
    warnings,
    revision: timeChanged ? post.revision + 1 : post.revision,
    updatedAt: now,
  } satisfies Partial<Post>);
  return timeChanged;
}

/** @param ownBytes Growth of the channels' and files' own texts. */
const useChange = (
  post: Post,
  status: 'scheduled' | 'draft',
  content: PostContent,
  ownBytes: number,
) => ({
  scheduled: Number(status === 'scheduled') - Number(post.status === 'scheduled'),
  drafts: Number(status === 'draft') - Number(post.status === 'draft'),
  text_bytes:
    textBytes({ ...content, ...nothingOwn }) - textBytes({ ...post, ...nothingOwn }) + ownBytes,
});

const nothingOwn = { overrides: {}, options: {}, channelFiles: {} };

const toSync = ({ workspaceId, id, status, revision, scheduledAt }: Post): PostToSync => ({
  workspaceId,
  postId: id,
  status,
  revision,
  dueAt: scheduledAt?.toISOString() ?? null,
});
