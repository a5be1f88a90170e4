import { newId } from '../../db/new-id.ts';
import type { Em } from '../../db/orm.ts';
import type { ApiDeps } from '../deps.ts';
import { insertMedia } from '../media/insert-media.ts';
import type { NewMedia } from '../media/new-media.ts';
import { attachMedia, chooseMedia, type AttachedFile } from './attach-media.ts';
import {
  channelWarning,
  judgePost,
  mustBePublishable,
  warningFor,
  type ChosenChannel,
  type Judgement,
} from './judge-post.ts';
import type { PostContent } from './post-content.ts';

export type NewPost = {
  readonly id: string;
  /** Null: a draft. */
  readonly dueAt: Date | null;
  readonly content: PostContent;
  readonly mediaIds: readonly string[];
  /** The idempotency key, if one was sent, and the request's fingerprint. */
  readonly key: string | undefined;
  readonly print: string;
};

class KeyTaken extends Error {}

/**
 * Stores a post with its channels, its files and its idempotency key, all or nothing. A second request with the same
 * key waits at the key's index until the first has committed.
 *
 * @param downloaded Files that the request named by URL; their rows are made here.
 * @returns false, with nothing stored, when the key is taken.
 * @throws AppError `invalid_media_ids`; `no_channels` or `invalid_content` for a post that is to be scheduled.
 */
export async function storePost(
  deps: ApiDeps,
  workspaceId: string,
  channels: readonly ChosenChannel[],
  post: NewPost,
  downloaded: readonly NewMedia[],
): Promise<boolean> {
  const now = deps.now();
  const store = async (em: Em): Promise<void> => {
    const attached: AttachedFile[] = [
      ...(await chooseMedia(em, workspaceId, post.mediaIds)).map((file) => ({
        file,
        fromUrl: false,
      })),
      ...(await insertMedia(em, workspaceId, downloaded, now)).map((file) => ({
        file,
        fromUrl: true,
      })),
    ];
    const files = attached.map(({ file }) => file);
    const judgements = judgePost(deps.rules, channels, post.content, files);
    if (post.dueAt) {
      mustBePublishable(judgements);
    }

    await insertPost(em, workspaceId, post, judgements, now);
    await claimKey(em, workspaceId, post, now);
    if (attached.length > 0) {
      await attachMedia(em, workspaceId, post.id, attached);
    }
  };
  const em = deps.orm.em.fork();
  // Without key and files it is one statement, and needs no transaction around it. Most posts are stored so.
  const isOneStatement = post.key === undefined && post.mediaIds.length + downloaded.length === 0;
  try {
    await (isOneStatement ? store(em) : em.transactional(store));
    return true;
  } catch (error) {
    if (error instanceof KeyTaken) {
      return false;
    }

    throw error;
  }
}

/** The post and its channels in one statement: by way of entities it takes five times as long. */
async function insertPost(
  em: Em,
  workspaceId: string,
  { id, dueAt, content }: NewPost,
  judgements: readonly Judgement[],
  now: Date,
): Promise<void> {
  const status = dueAt ? 'scheduled' : 'draft';
  // There is nothing to tell Temporal of a draft.
  const syncedRevision = dueAt ? 0 : 1;
  const channels = judgements.map((judgement, position) => ({
    id: newId(),
    channel_id: judgement.channel.id,
    position,
    body: content.overrides[judgement.channel.id] ?? null,
    warning: channelWarning(judgement),
  }));
  await em.execute(
    `with post as (
       insert into posts
         (id, workspace_id, body, thread, scheduled_at, status, synced_revision, video, warning, created_at, updated_at)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       returning id, workspace_id, status
     )
     insert into post_channels (id, workspace_id, post_id, channel_id, position, body, status, warning)
     select c.id, p.workspace_id, p.id, c.channel_id, c.position, c.body, p.status, c.warning
     from post p, jsonb_to_recordset(?) as c(id uuid, channel_id uuid, position int, body text, warning text)`,
    [
      id,
      workspaceId,
      content.body,
      json(content.thread),
      dueAt,
      status,
      syncedRevision,
      json(content.video),
      warningFor(judgements),
      now,
      now,
      JSON.stringify(channels),
    ],
  );
}

const json = (value: object | null): string | null =>
  value === null ? null : JSON.stringify(value);

async function claimKey(em: Em, workspaceId: string, post: NewPost, now: Date): Promise<void> {
  if (post.key === undefined) {
    return;
  }

  const claimed = await em.execute<{ key: string }[]>(
    `insert into idempotency_keys (workspace_id, key, fingerprint, post_id, created_at)
     values (?, ?, ?, ?, ?) on conflict do nothing returning key`,
    [workspaceId, post.key, post.print, post.id, now],
  );
  if (claimed.length === 0) {
    throw new KeyTaken();
  }
}
