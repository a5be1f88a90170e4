import { sql } from 'kysely';
import type { PostChannel } from '../../db/entities/post-channels.ts';
import type { Post } from '../../db/entities/posts.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { AppError, type ErrorCode } from '../../domain/errors.ts';
import { plainFault, type ContentFault } from '../../domain/warnings.ts';
import type { ChannelStatus } from '../../domain/statuses.ts';
import type { Options } from '../../networks/content-rules.ts';
import type { Caller, PostChange } from '../context.ts';
import { findReplayed, type RequestKey } from '../idempotency.ts';
import { nameOfChannel, settleFirst } from './choose-channels.ts';
import type { PostInput } from './content.ts';
import { createPost, type Created, type CreateDeps } from './create-post.ts';
import { lockPostMedia, type PostFile } from './post-media.ts';
import { lockPost, postNotFound } from './read-posts.ts';

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

  const source = await deps.orm.em
    .fork()
    .transactional((em) => readSource(em, { ...caller, postId }));
  const chosen = source.channels.filter(({ status }) => only === undefined || status === 'failed');
  if (only !== undefined && chosen.length === 0) {
    const unconfirmed = source.channels.filter(({ status }) => status === 'unconfirmed');
    throw nothingToCopy(
      unconfirmed.length > 0
        ? settleFirst(postId, unconfirmed)
        : 'No channel of this post has failed. Omit `only` to copy all channels.',
    );
  }

  const channels = chosen.filter((channel) => !channel.is_disconnected);
  const gone = chosen.filter((channel) => channel.is_disconnected).map(nameOf);
  if (channels.length === 0 && gone.length > 0) {
    throw nothingToCopy(
      `The account was disconnected: ${gone.join(', ')}. Connect it again, then copy the post.`,
    );
  }

  const input = inputOf({ ...source, channels });
  const deleted = source.files.filter((file) => file.isDeleted).map(({ name }) => name);
  if (isEmpty(input)) {
    throw nothingToCopy('No text and no file of this post is left for the channels to copy.');
  }

  try {
    return await createPost(deps, caller, input, key, { notes: notesOf(gone, deleted) });
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

type Channel = Pick<PostChannel, 'body' | 'options' | 'media'> & {
  readonly id: string;
  readonly platform: string;
  readonly handle: string;
  readonly status: ChannelStatus;
  readonly is_disconnected: boolean;
};

type Source = {
  readonly post: Pick<Post, 'body' | 'thread' | 'timezone' | 'video' | 'tags' | 'metadata'>;
  readonly channels: readonly Channel[];
  readonly files: readonly PostFile[];
};

/** Reads a post under its lock, so that no edit comes between. @throws AppError `not_found` */
async function readSource(em: Em, change: PostChange): Promise<Source> {
  const { workspaceId, postId } = change;
  await lockPost(em, change);
  const [post] = await query(
    em,
    sql<Source['post']>`
      select body, thread, timezone, video, tags, metadata from posts where id = ${postId} and workspace_id = ${workspaceId}`,
  );
  if (!post) {
    throw postNotFound(postId);
  }

  const channels = await query(
    em,
    sql<Channel>`
      select c.id, c.platform, c.handle, c.disconnected_at is not null as is_disconnected, pc.status, pc.body,
        pc.options, pc.media
      from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
      where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} order by pc.position`,
  );
  const files = await lockPostMedia(em, change);
  return { post, channels, files };
}

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
  const bodies = channels.flatMap((channel) =>
    channel.body === null ? [] : [[channel.id, channel.body] as const],
  );
  const deleted = new Set(files.filter((file) => file.isDeleted).map(({ mediaId }) => mediaId));
  const media = channels.flatMap(({ id, media: own }) => {
    const left = own?.filter(({ media_id: mediaId }) => !deleted.has(mediaId));
    return left
      ? [[id, left.map((file) => ({ mediaId: file.media_id, altText: file.alt_text }))] as const]
      : [];
  });
  const options = channels.map((channel) => [channel.id, optionsOf(channel, files)] as const);
  return {
    ...(body === null ? {} : { body }),
    thread: thread && thread.map((text, part) => (part === 0 ? text : withFiles(text, part))),
    channelIds: channels.map(({ id }) => id),
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
function optionsOf({ options }: Channel, files: readonly PostFile[]): Options {
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

const notesOf = (gone: readonly string[], deleted: readonly string[]): ContentFault[] => [
  ...(gone.length > 0
    ? [plainFault(`Not copied, because the account was disconnected: ${gone.join(', ')}.`)]
    : []),
  ...(deleted.length > 0
    ? [plainFault(`Files of the copied post were deleted: ${deleted.join(', ')}.`)]
    : []),
];

const nameOf = ({ id, platform, handle }: Channel): string =>
  nameOfChannel({ id, platform, handle });

const nothingToCopy = (message: string): AppError => new AppError('nothing_to_copy', message);
