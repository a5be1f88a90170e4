import { lockPost, type PostOnChannel, type WholePost } from '../../db/repositories/posts.ts';
import { lockPostMedia, type PostFile } from '../../db/repositories/media.ts';
import { AppError, type ErrorCode } from '../../domain/errors.ts';
import { isSent, linksOf } from '../../domain/live-parts.ts';
import { plainFault, type ContentFault } from '../../domain/warnings.ts';
import type { Options } from '../../networks/content-rules.ts';
import type { Caller } from '../context.ts';
import { findReplayed, type RequestKey } from '../idempotency.ts';
import { namesOfChannels, settleFirst } from './choose-channels.ts';
import type { PostInput } from './content.ts';
import { createPost, type Created, type CreateDeps } from './create-post.ts';

/**
 * Creates a draft with the content of a post: its texts, options and files, for its connected channels.
 *
 * @param only `failed`: only the channels that failed. An unconfirmed one may have the post.
 * @throws AppError `not_found`, `nothing_to_copy`, `plan_required`, `quota_exceeded`, `idempotency_key_reused`,
 *   `post_deleted`.
 */
export async function copyPost(
  deps: CreateDeps,
  caller: Caller,
  postId: string,
  only: 'failed' | undefined,
  key: RequestKey | undefined,
): Promise<Created> {
  // First of all: the copied post may have been deleted since.
  const earlier = key && (await findReplayed(deps.orm.em.fork(), caller, key, deps.now()));
  if (earlier) {
    return { postId: earlier, replayed: true, toSync: null };
  }

  // Under its lock, so that no edit comes between.
  const source = await deps.orm.em.fork().transactional(async (em) => {
    const whole = await lockPost(em, { ...caller, postId });
    return { ...whole, files: await lockPostMedia(em, whole.post) };
  });
  const chosen = source.channels.filter(({ row }) => only === undefined || row.status === 'failed');
  if (only !== undefined && chosen.length === 0) {
    const unconfirmed = source.channels.filter(({ row }) => row.status === 'unconfirmed');
    throw nothingToCopy(
      unconfirmed.length > 0
        ? settleFirst(postId, unconfirmed)
        : source.post.status === 'publishing'
          ? 'The post is publishing, and no channel has failed so far. Wait for its end.'
          : 'No channel of this post has failed.',
    );
  }

  const channels = chosen.filter(({ account }) => account.disconnectedAt === null);
  const gone = namesOfChannels(chosen.filter((channel) => !channels.includes(channel)));
  if (channels.length === 0 && gone !== '') {
    throw nothingToCopy(
      `The account was disconnected: ${gone}. Connect it again, then copy the post.`,
    );
  }

  const input = inputOf({ ...source, channels });
  const deleted = source.files.filter((file) => file.isDeleted).map(({ name }) => name);
  if (isEmpty(input)) {
    throw nothingToCopy('No text and no file of this post is left for the channels to copy.');
  }

  try {
    return await createPost(deps, caller, input, key, {
      notes: [...notesOf(gone, deleted), ...notesOnLive(postId, channels)],
    });
  } catch (error) {
    // A channel or a file is gone since it was read, or the network has other options now. The request is not at fault.
    if (error instanceof AppError && contentCodes.has(error.code)) {
      throw nothingToCopy(`The post cannot be copied as it is: ${error.message}`);
    }

    throw error;
  }
}

const contentCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'empty_body',
  'invalid_channel_ids',
  'invalid_channel_options',
  'invalid_media_ids',
]);

type Source = WholePost & { readonly files: readonly PostFile[] };

/** The post as a request. Files from URLs are in the library by now, and are named by id. */
function inputOf({ post, channels, files }: Source): PostInput {
  const { body, thread, timezone, video, tags, metadata } = post;
  const kept = files.filter((file) => !file.isDeleted);
  const filesOf = (part: number) => {
    const own = kept.filter((file) => file.part === part);
    const texts = own.flatMap(({ mediaId, altText }) =>
      altText === null ? [] : [[mediaId, altText] as const],
    );
    return { mediaIds: own.map(({ mediaId }) => mediaId), altTexts: Object.fromEntries(texts) };
  };
  const withFiles = (text: string, part: number) => ({ text, ...filesOf(part) });
  const bodies = channels.flatMap(({ row }) =>
    row.body === null ? [] : [[row.channelId, row.body] as const],
  );
  const deleted = new Set(files.filter((file) => file.isDeleted).map(({ mediaId }) => mediaId));
  const media = channels.flatMap(({ row }) => {
    const left = row.media?.filter(({ media_id: mediaId }) => !deleted.has(mediaId));
    return left
      ? [
          [
            row.channelId,
            left.map((file) => ({ mediaId: file.media_id, altText: file.alt_text })),
          ] as const,
        ]
      : [];
  });
  const options = channels.map(({ row }) => [row.channelId, optionsOf(row, files)] as const);
  return {
    ...(body === null ? {} : { body }),
    thread: thread && thread.map((text, part) => (part === 0 ? text : withFiles(text, part))),
    channelIds: channels.map(({ account }) => account.id),
    channelBodies: Object.fromEntries(bodies),
    channelOptions: Object.fromEntries(options),
    channelMedia: Object.fromEntries(media),
    timezone,
    tags,
    metadata,
    ...filesOf(0),
    video,
  };
}

/** Options that name a deleted file are left out. Channel defaults are the current ones, as for any new post. */
function optionsOf({ options }: PostOnChannel['row'], files: readonly PostFile[]): Options {
  const deleted = new Set<unknown>(files.filter((one) => one.isDeleted).map((one) => one.mediaId));
  return Object.fromEntries(
    Object.entries(options ?? {}).filter(([, value]) => !deleted.has(value)),
  );
}

const isEmpty = ({ body, thread, channelBodies, channelMedia, mediaIds }: PostInput): boolean =>
  !body?.trim() &&
  !thread &&
  Object.keys(channelBodies ?? {}).length === 0 &&
  (mediaIds ?? []).length === 0 &&
  Object.values(channelMedia ?? {}).every((files) => files.length === 0);

const notesOf = (gone: string, deleted: readonly string[]): ContentFault[] => [
  ...(gone !== ''
    ? [plainFault(`Not copied, because the account was disconnected: ${gone}.`)]
    : []),
  ...(deleted.length > 0
    ? [plainFault(`Files of the copied post were deleted: ${deleted.join(', ')}.`)]
    : []),
];

/** Warnings about channels where the copied post went out in part. */
const notesOnLive = (postId: string, channels: readonly PostOnChannel[]): ContentFault[] =>
  channels
    .filter(({ row, parts }) => row.status !== 'published' && parts.some(isSent))
    .map((channel) =>
      plainFault(
        `A part of the copied post is live on ${namesOfChannels([channel])}: ${linksOf(channel.parts.filter(isSent))}. This copy sends it again, unless POST /posts/${postId}/unpublish with this channel in channel_ids removes it first.`,
        'same_text',
      ),
    );

const nothingToCopy = (message: string): AppError => new AppError('nothing_to_copy', message);
