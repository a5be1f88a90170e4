import { LockMode } from '@mikro-orm/core';
import { sql } from 'kysely';
import { assertReachesPost, postNotFound, type KeyHolder } from '../../domain/api-keys.ts';
import { Channel } from '../entities/channels.ts';
import { detachParts } from '../ledger/outcomes.ts';
import { releaseText } from '../quotas.ts';
import { PostChannel, PostPart } from '../entities/post-channels.ts';
import { Post, PostMedia } from '../entities/posts.ts';
import type { Em } from '../orm.ts';
import { query } from '../query.ts';

type Scope = { readonly workspaceId: string; readonly postId: string };

export type PostOnChannel = {
  readonly row: PostChannel;
  readonly account: Pick<Channel, (typeof accountFields)[number]>;
  /** In order, of each part from the first run on. */
  readonly parts: readonly PostPart[];
};

export type WholePost = { readonly post: Post; readonly channels: readonly PostOnChannel[] };

const accountFields = [
  'id',
  'platform',
  'handle',
  'baseUrl',
  'remoteId',
  'state',
  'settings',
  'options',
  'disconnectedAt',
] as const satisfies (keyof Channel)[];

/**
 * Locks a post and its channels for a change until the transaction ends, and checks that the caller's key may change it:
 * another call may have moved the post to other channels since. Changes of the entities are stored by `em.flush()`,
 * before any statement that reads the post, and at the commit.
 *
 * Lock order everywhere: the post, its channels, their ledgers, then files.
 */
export async function lockPost(
  em: Em,
  { workspaceId, postId, channelIds = null }: Scope & Partial<KeyHolder>,
): Promise<WholePost> {
  const whole = await findPost(em, { workspaceId, postId }, LockMode.PESSIMISTIC_WRITE);
  const ids = whole.channels.map(({ row }) => row.channelId);
  assertReachesPost({ channelIds }, postId, ids, 'change');
  return whole;
}

export async function findPost(
  em: Em,
  { workspaceId, postId }: Scope,
  lockMode: LockMode.NONE | LockMode.PESSIMISTIC_WRITE = LockMode.NONE,
): Promise<WholePost> {
  const post = await em.findOne(Post, { id: postId, workspaceId }, { lockMode });
  if (!post) {
    throw postNotFound(postId);
  }

  const rows = await em.find(
    PostChannel,
    { postId, workspaceId },
    { orderBy: { id: 'asc' }, lockMode },
  );
  const accounts = await em.find(
    Channel,
    { id: { $in: rows.map(({ channelId }) => channelId) }, workspaceId },
    { fields: accountFields },
  );
  const parts = await findParts(
    em,
    workspaceId,
    rows.map(({ id }) => id),
  );
  const channels = rows
    .toSorted((a, b) => a.position - b.position)
    .flatMap((row) => {
      const account = accounts.find(({ id }) => id === row.channelId);
      return account
        ? [{ row, account, parts: parts.filter(({ postChannelId }) => postChannelId === row.id) }]
        : [];
    });
  return { post, channels };
}

const findParts = (
  em: Em,
  workspaceId: string,
  postChannelIds: readonly string[],
  options: { readonly lockMode?: LockMode.PESSIMISTIC_WRITE; readonly refresh?: boolean } = {},
) =>
  em.find(
    PostPart,
    { postChannelId: { $in: postChannelIds }, workspaceId },
    { orderBy: { part: 'asc', run: 'asc' }, ...options },
  );

/**
 * Locks the ledger of a channel and reads it again, after `lockClaims`: a reconcile may have changed it since the post
 * was locked.
 */
export const lockParts = (em: Em, { workspaceId, id }: PostChannel): Promise<PostPart[]> =>
  findParts(em, workspaceId, [id], { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true });

/** Deletes a locked post with its results and metrics. Its live parts stay in the ledger. */
export async function removePost(em: Em, { post, channels }: WholePost, now: Date): Promise<void> {
  const { id: postId, workspaceId } = post;
  const ids = channels.map(({ row }) => row.id);
  await detachParts(em, workspaceId, ids, now);
  await releaseText(em, { workspaceId, postId });
  await em.nativeDelete(PostMedia, { postId, workspaceId });
  await em.nativeDelete(PostChannel, { postId, workspaceId });
  await em.nativeDelete(Post, { id: postId, workspaceId });
}

/** @returns the ids of the post's channels; none without such a post. */
export async function channelsOfPost(em: Em, scope: Scope): Promise<string[]> {
  const rows = await em.find(PostChannel, { ...scope }, { fields: ['channelId'] });
  return rows.map(({ channelId }) => channelId);
}

type Account = Omit<PostOnChannel['account'], 'baseUrl' | 'remoteId'>;

/**
 * Finds channels to publish to, by a statement, as each new post needs it.
 *
 * @param kept Ids of channels that may be disconnected.
 */
export const findAccounts = (
  em: Em,
  workspaceId: string,
  ids: readonly string[],
  kept: readonly string[],
): Promise<Account[]> =>
  query(
    em,
    sql<Account>`
      select id, platform, handle, state, settings, options, disconnected_at as "disconnectedAt" from channels
      where workspace_id = ${workspaceId} and id = any(${ids})
        and (disconnected_at is null or id = any(${kept}::uuid[]))`,
  );
