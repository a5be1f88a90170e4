import { lockPost, type PostOnChannel, type WholePost } from '../../db/repositories/posts.ts';
import { lockPostMedia, type PostFile } from '../../db/repositories/media.ts';
import { AppError, type ErrorCode } from '../../domain/errors.ts';
import { isSent, linksOf } from '../../domain/live-parts.ts';
import { plainFault, type ContentFault } from '../../domain/warnings.ts';
import type { Caller } from '../context.ts';
import type { RequestKey } from '../idempotency.ts';
import { namesOfChannels, settleFirst } from './choose-channels.ts';
import { createPost, replayedPost, type Created, type CreateDeps } from './create-post.ts';
import type { PostInput } from './post-request.ts';

/**
 * Creates a draft with the content of a post: its texts, options and files, for its connected channels.
 *
 * @param only `failed`: only the channels that failed. An unconfirmed one may have the post.
 */
export async function copyPost(
  deps: CreateDeps,
  caller: Caller,
  postId: string,
  only: 'failed' | undefined,
  key: RequestKey | undefined,
): Promise<Created> {
  // First of all: the copied post may have been deleted since.
  const earlier = await replayedPost(deps, caller, key);
  if (earlier) {
    return earlier;
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
  const isDeleted = (id: unknown): boolean =>
    files.some((file) => file.isDeleted && file.mediaId === id);
  const mediaOf = (part: number) =>
    files
      .filter((file) => file.part === part && !file.isDeleted)
      .map(({ mediaId, altText }) => ({ media_id: mediaId, alt_text: altText }));
  const ofChannels = <T>(own: (row: PostOnChannel['row']) => T | null | undefined) =>
    Object.fromEntries(
      channels.flatMap(({ row }) => {
        const value = own(row) ?? null;
        return value === null ? [] : [[row.channelId, value] as const];
      }),
    );
  return {
    body,
    thread:
      thread && thread.map((text, part) => (part > 0 ? { text, media: mediaOf(part) } : text)),
    channel_ids: channels.map(({ account }) => account.id),
    channel_bodies: ofChannels(({ body: own }) => own),
    // Channel defaults are the current ones, as for any new post.
    channel_options: ofChannels(({ options }) =>
      Object.fromEntries(Object.entries(options ?? {}).filter(([, value]) => !isDeleted(value))),
    ),
    channel_media: ofChannels(({ media }) => media?.filter((file) => !isDeleted(file.media_id))),
    timezone: timezone ?? null,
    tags,
    metadata,
    media: mediaOf(0),
    video,
  };
}

const isEmpty = ({
  body,
  thread,
  channel_bodies: bodies,
  channel_media: files,
  media,
}: PostInput) =>
  !body?.trim() &&
  !thread &&
  Object.keys(bodies ?? {}).length === 0 &&
  (media ?? []).length === 0 &&
  Object.values(files ?? {}).every(({ length }) => length === 0);

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
