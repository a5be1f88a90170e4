import { sql, type RawBuilder } from 'kysely';
import { isUnderWay } from '../../db/channel-status.ts';
import { isOpenPost } from '../../db/post-status.ts';
import { query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import { cancelPost } from '../../services/posts/cancel-post.ts';
import type { ActivityDeps } from '../deps.ts';

/** Rows per statement, to keep locks short. A post has several rows. */
const batchSize = 500;

/** Longer than any call that was admitted before the deletion, in milliseconds: nothing is added afterwards. */
const settledAfterMs = 60 * 60_000;

type Deps = Pick<ActivityDeps, 'orm' | 'now' | 'log' | 'publicUrl' | 'rules'>;

/**
 * Deletes the rows of deleted workspaces, in batches until the time is up; the next sweeps continue. The workspace's own
 * row keeps its id and its times.
 */
export async function purgeWorkspaces(deps: Deps, isTimeUp: () => boolean): Promise<void> {
  const em = deps.orm.em.fork();
  const deleted = await query(
    em,
    sql<{ id: string; deleted_at: Date }>`select id, deleted_at from workspaces
      where deleted_at is not null and purged_at is null order by deleted_at`,
  );
  for (const { id, deleted_at: deletedAt } of deleted) {
    await cancelOpenPosts(deps, id, isTimeUp);
    const isEmpty = await deleteRows(deps, id, isTimeUp);
    if (isEmpty && deps.now().getTime() - deletedAt.getTime() > settledAfterMs) {
      await query(
        em,
        sql`update workspaces set name = null, plan = null, quotas = '{}', purged_at = ${deps.now()} where id = ${id}`,
      );
      deps.log.info({ workspace: id }, 'deleted everything of a workspace');
    }
  }
}

/** The relay cancels their workflows. A channel that is being sent finishes first. */
async function cancelOpenPosts(
  deps: Deps,
  workspaceId: string,
  isTimeUp: () => boolean,
): Promise<void> {
  for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
    const posts = await query(
      deps.orm.em.fork(),
      sql<{ id: string }>`select id from posts
        where workspace_id = ${workspaceId} and ${isOpenPost()} and id > ${after} order by id limit ${batchSize}`,
    );
    for (const { id: postId } of posts) {
      if (isTimeUp()) {
        return;
      }

      await cancelPost(deps, { workspaceId, postId }).catch((error: unknown) => {
        // It ended a moment ago, or is about to.
        if (!(error instanceof AppError)) {
          throw error;
        }
      });
      after = postId;
    }

    if (posts.length < batchSize) {
      return;
    }
  }
}

/** @returns whether nothing is left. */
async function deleteRows(
  deps: Deps,
  workspaceId: string,
  isTimeUp: () => boolean,
): Promise<boolean> {
  for (const deletion of [deletePosts, ...others]) {
    for (let isFull = true; isFull;) {
      if (isTimeUp()) {
        return false;
      }

      const [{ found, gone } = { found: 0, gone: 0 }] = await query(
        deps.orm.em.fork(),
        deletion(workspaceId),
      );
      if (found > gone) {
        return false; // The remaining rows refer to the other ones.
      }

      isFull = gone > 0;
    }
  }

  return true;
}

/** `found`: rows before the statement, at most a batch. `gone`: how many of them it deleted. */
type Counts = { readonly found: number; readonly gone: number };
type Deletion = (workspaceId: string) => RawBuilder<Counts>;

/** A post stays while a channel is being sent, and until its workflow knows that it was cancelled. */
const deletePosts: Deletion = (workspaceId) => sql`
  with found as materialized (
      select id, status, revision, synced_revision from posts where workspace_id = ${workspaceId}
      order by created_at, id limit ${sql.lit(batchSize)} for update),
    ended as materialized (
      select id from found where not ${isOpenPost('found')} and synced_revision >= revision and not exists (
        select from post_channels pc where pc.post_id = found.id and ${isUnderWay})),
    own_channels as materialized (select id from post_channels where post_id in (select id from ended)),
    sums as (delete from post_metrics where post_id in (select id from ended)),
    days as (delete from metric_days where post_channel_id in (select id from own_channels)),
    parts as (delete from post_parts where post_channel_id in (select id from own_channels)),
    channels as (delete from post_channels where id in (select id from own_channels)),
    media as (delete from post_media where post_id in (select id from ended)),
    keys as (delete from idempotency_keys where post_id in (select id from ended)),
    gone as (delete from posts where id in (select id from ended) returning id)
  select (select count(*)::int from found) as found, (select count(*)::int from gone) as gone`;

/** The API removes the bytes of deleted files, and then their rows, within an hour. */
const markFiles: Deletion = (workspaceId) => sql`
  with gone as (
      update media_files set deleted_at = now(), stored_at = now() where id = any(array(
        select id from media_files where workspace_id = ${workspaceId} and deleted_at is null limit ${sql.lit(batchSize)}))
      returning 1)
  select count(*)::int as found, count(*)::int as gone from gone`;

const deleteFiles: Deletion = (workspaceId) => sql`
  with gone as (
      delete from media_files where workspace_id = ${workspaceId} and stored_at is null returning 1)
  select (select count(*)::int from media_files where workspace_id = ${workspaceId}) as found,
    (select count(*)::int from gone) as gone`;

/** @param through The table by which an index finds the rows, and the column that refers to it. */
const rowsOf =
  (table: string, through?: readonly [table: string, column: string]): Deletion =>
  (workspaceId) => {
    const own = through
      ? sql`join ${sql.table(through[0])} via on via.id = t.${sql.ref(through[1])} where via.workspace_id = ${workspaceId}`
      : sql`where t.workspace_id = ${workspaceId}`;
    return sql`
      with gone as (
        delete from ${sql.table(table)} where ctid = any(array(
          select t.ctid from ${sql.table(table)} t ${own} limit ${sql.lit(batchSize)}))
        returning 1)
      select count(*)::int as found, count(*)::int as gone from gone`;
  };

/** In the order of their references. Attempts, slots, grants and links go with their parents. */
const others: readonly Deletion[] = [
  markFiles,
  rowsOf('deliveries', ['webhook_endpoints', 'endpoint_id']),
  rowsOf('webhook_endpoints'),
  rowsOf('events'),
  rowsOf('idempotency_keys'),
  rowsOf('post_parts', ['channels', 'channel_id']),
  rowsOf('connect_links'),
  rowsOf('channels'),
  rowsOf('api_keys'),
  rowsOf('network_use'),
  rowsOf('audit_log'),
  deleteFiles,
];
