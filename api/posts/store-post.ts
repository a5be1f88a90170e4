import { ask } from '../../db/ask.ts';
import { newId } from '../../db/new-id.ts';
import type { Em } from '../../db/orm.ts';
import type { ApiDeps } from '../deps.ts';
import { insertMedia } from '../media/insert-media.ts';
import type { MediaToInsert } from '../media/new-media.ts';
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
import {
  makeRoom,
  RoomIsShort,
  taking,
  takingValues,
  withRoom,
  type RoomOwner,
} from '../quotas/take-room.ts';
import { textBytes } from '../quotas/text-bytes.ts';

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
 * @throws AppError `invalid_media_ids`, `quota_exceeded`; `no_channels` or `invalid_content` for a post that is to be
 *   scheduled.
 */
export async function storePost(
  deps: ApiDeps,
  owner: RoomOwner,
  channels: readonly ChosenChannel[],
  post: NewPost,
  downloaded: MediaToInsert,
): Promise<boolean> {
  const now = deps.now();
  const { workspaceId } = owner;
  const store = async (em: Em, isCounted: boolean): Promise<void> => {
    const attached: AttachedFile[] = [
      ...(await chooseMedia(em, workspaceId, post.mediaIds)).map((file) => ({
        file,
        fromUrl: false,
      })),
      ...(await insertMedia(em, owner, downloaded, now)).map((file) => ({
        file,
        fromUrl: true,
      })),
    ];
    const files = attached.map(({ file }) => file);
    const judgements = judgePost(deps.rules, channels, post.content, files);
    if (post.dueAt) {
      mustBePublishable(judgements);
    }

    await insertPost(em, owner, post, { judgements, now, isCounted });
    await claimKey(em, workspaceId, post, now);
    if (attached.length > 0) {
      await attachMedia(em, workspaceId, post.id, attached);
    }
  };
  // Without key and files it is one statement, and needs no transaction around it. Most posts are stored so.
  const isOneStatement =
    post.key === undefined && post.mediaIds.length + downloaded.files.length === 0;
  try {
    await withRoom((isCounted) => {
      const em = deps.orm.em.fork();
      return isOneStatement && !isCounted
        ? store(em, isCounted)
        : em.transactional((tx) => store(tx, isCounted));
    });
    return true;
  } catch (error) {
    if (error instanceof KeyTaken) {
      return false;
    }

    throw error;
  }
}

/** The post and its channels in one statement, which also takes the room for them. */
async function insertPost(
  em: Em,
  owner: RoomOwner,
  post: NewPost,
  {
    judgements,
    now,
    isCounted,
  }: { judgements: readonly Judgement[]; now: Date; isCounted: boolean },
): Promise<void> {
  const change = {
    scheduled: post.dueAt ? 1 : 0,
    drafts: post.dueAt ? 0 : 1,
    text_bytes: textBytes(post.content),
  };
  if (isCounted) {
    await makeRoom(em, owner, post.id, change);
  }

  const values = [...takingValues(owner, post.id, change), ...valuesOf(post, judgements), now];
  if ((await ask(em, insertion, values)).length === 0) {
    throw new RoomIsShort();
  }
}

/** No row when there is no room. By way of entities it would take five times as long. */
const insertion = `with room as (${taking}),
  post as (
    insert into posts
      (id, workspace_id, body, thread, scheduled_at, status, synced_revision, video, warning, created_at, updated_at)
    select $2::uuid, workspace_id, $7::text, $8::jsonb, $9::timestamptz, $10::text, $11::int, $12::jsonb, $13::text,
      $15::timestamptz, $15::timestamptz
    from room
    returning id, workspace_id, status
  ),
  channels as (
    insert into post_channels (id, workspace_id, post_id, channel_id, position, body, status, warning)
    select c.id, p.workspace_id, p.id, c.channel_id, c.position, c.body, p.status, c.warning
    from post p, jsonb_to_recordset($14::jsonb) as c(id uuid, channel_id uuid, position int, body text, warning text)
  )
  select id from post`;

/** `$7` to `$14` of the insertion. */
function valuesOf(
  { dueAt, content }: NewPost,
  judgements: readonly Judgement[],
): readonly unknown[] {
  const channels = judgements.map((judgement, position) => ({
    id: newId(),
    channel_id: judgement.channel.id,
    position,
    body: content.overrides[judgement.channel.id] ?? null,
    warning: channelWarning(judgement),
  }));
  return [
    content.body,
    json(content.thread),
    dueAt,
    dueAt ? 'scheduled' : 'draft',
    dueAt ? 0 : 1, // There is nothing to tell Temporal of a draft.
    json(content.video),
    warningFor(judgements),
    JSON.stringify(channels),
  ];
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
