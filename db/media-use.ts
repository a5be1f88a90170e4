import { sql, type RawBuilder } from 'kysely';
import type { KeyHolder } from '../domain/api-keys.ts';
import type { Json } from '../domain/json-schema.ts';
import type { PostStatus } from '../domain/statuses.ts';
import { isOpenChannel } from './channel-status.ts';
import type { MediaFile } from './entities/media.ts';
import type { Em } from './orm.ts';
import { isOpenPost, isReached } from './post-status.ts';
import { query, queryPlanned } from './query.ts';

// Which posts and channels use a file.

type File = Pick<MediaFile, 'id' | 'workspaceId'>;

/**
 * Finds a post that keeps a file from being deleted: one that is scheduled or being published, or any that the holder's
 * key may not change. Its id is null if the holder may not read the post.
 */
export async function postThatKeeps(
  em: Em,
  { id, workspaceId }: File,
  holder: Partial<KeyHolder>,
): Promise<{ readonly id: string | null; readonly status: PostStatus } | undefined> {
  const [post] = await query(
    em,
    sql<{ id: string | null; status: PostStatus }>`
      select case when ${isReached(holder)} then p.id end as id, p.status
      from post_media m join posts p on p.id = m.post_id and p.workspace_id = m.workspace_id
      where m.media_id = ${id} and m.workspace_id = ${workspaceId} and (${isOpenPost('p')} or not ${isReached(holder)}
        or ${isOnOthers(holder)})
      limit 1`,
  );
  return post;
}

/** SQL: whether the post `p` has a channel that the holder's key may not use. */
const isOnOthers = ({ channelIds = null }: Partial<KeyHolder>): RawBuilder<boolean> =>
  sql`exists (select from post_channels pc where pc.post_id = p.id and pc.workspace_id = p.workspace_id
    and pc.channel_id <> all(${channelIds}::uuid[]))`;

/** Whether a scheduled or publishing post with the file has a channel that the holder's key may not use. */
export async function waitsOnOthers(
  em: Em,
  { id, workspaceId }: File,
  holder: Partial<KeyHolder>,
): Promise<boolean> {
  if ((holder.channelIds ?? null) === null) {
    return false;
  }

  const posts = await query(
    em,
    sql`select p.id from post_media m
      join posts p on p.id = m.post_id and p.workspace_id = m.workspace_id and ${isOpenPost('p')}
      where m.media_id = ${id} and m.workspace_id = ${workspaceId} and ${isOnOthers(holder)} limit 1`,
  );
  return posts.length > 0;
}

/** Finds a connected channel whose defaults name a file: those of a disconnected one lose it. */
export async function channelThatNames(
  em: Em,
  { id, workspaceId }: File,
): Promise<string | undefined> {
  const [channel] = await query(
    em,
    sql<{ id: string }>`select c.id from channels c
      where c.workspace_id = ${workspaceId} and c.disconnected_at is null and ${namesFile(sql`${id}`)} limit 1`,
  );
  return channel?.id;
}

/** Removes a file from the defaults that name it. */
export const leaveDefaults = (em: Em, { id, workspaceId }: File): Promise<unknown> =>
  query(
    em,
    sql`update channels c set options = (
        select jsonb_object_agg(key, value) from jsonb_each(c.options) where value <> to_jsonb(${id}::text))
      where c.workspace_id = ${workspaceId} and ${namesFile(sql`${id}`)}`,
  );

/** SQL: whether the defaults of the channel `c` name a file. */
const namesFile = (id: RawBuilder<unknown>): RawBuilder<boolean> =>
  sql`exists (select from jsonb_each_text(coalesce(c.options, '{}')) option where option.value = ${id}::text)`;

/** Accounts of one network with the same limits, the waiting posts that use a file's own alt text there, and some ids. */
type Destination = { platform: string; settings: Json; posts: number; ids: readonly string[] };

export const destinationsOf = (em: Em, { id, workspaceId }: File): Promise<Destination[]> =>
  queryPlanned(
    em,
    sql<Destination>`
      select c.platform, c.settings, count(distinct pc.post_id)::int as posts,
        (array_agg(distinct pc.post_id::text))[1:5] as ids
      from post_media pm
      join post_channels pc on pc.post_id = pm.post_id and pc.workspace_id = pm.workspace_id and ${isOpenChannel}
      join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
      where pm.media_id = ${id} and pm.workspace_id = ${workspaceId}
        and case when pc.media is null then pm.part >= 0 and pm.alt_text is null
          else pc.media @> ${JSON.stringify([{ media_id: id, alt_text: null }])}::jsonb end
      group by c.platform, c.settings order by c.platform`,
  );

/** SQL: whether neither a post nor a channel's defaults use the file `m`. */
const isUnused = sql<boolean>`not exists (
    select from post_media pm where pm.media_id = m.id and pm.workspace_id = m.workspace_id)
  and not exists (
    select from channels c where c.workspace_id = m.workspace_id and ${namesFile(sql`m.id`)})`;

/** Marks some files of all workspaces as deleted that are older than `days` and unused. @returns their ids. */
export async function deleteUnused(em: Em, days: number, limit: number): Promise<string[]> {
  const locked = await query<{ id: string }>(
    em,
    sql`select m.id from media_files m
     where m.deleted_at is null and m.stored_at is not null and m.created_at < now() - make_interval(days => ${days}::int)
       and ${isUnused}
     order by m.created_at limit ${limit} for update of m skip locked`,
  );
  // A call that attaches a file to a post locks its row. A separate statement sees posts that were committed just
  // before the lock.
  const deleted = await query<{ id: string }>(
    em,
    sql`update media_files m set deleted_at = now()
       where m.id = any(${locked.map(({ id }) => id)}::uuid[]) and ${isUnused}
       returning m.id`,
  );
  return deleted.map(({ id }) => id);
}
