import { sql } from 'kysely';
import { loadPostView } from '../../db/load-post-view.ts';
import type { Em } from '../../db/orm.ts';
import { queryPlanned } from '../../db/query.ts';
import type { PostStatus } from '../../domain/post-status.ts';
import type { PostView } from '../../domain/post-view.ts';
import type { ApiDeps } from '../deps.ts';
import { encodeCursor, readCursor } from '../http/cursor.ts';
import { cutTexts } from './cut-texts.ts';
import { postNotFound } from './lock-post.ts';
import type { PostList, PostListItem } from './schemas.ts';

/** @throws AppError `not_found` */
export async function showPost(
  deps: ApiDeps,
  workspaceId: string,
  id: string,
): Promise<{ post: PostView }> {
  const post = await loadPostView(deps.orm.em.fork(), workspaceId, id, deps);
  if (!post) {
    throw postNotFound(id);
  }

  return { post };
}

type Row = Omit<PostListItem, 'scheduled_at' | 'published_at' | 'created_at'> & {
  readonly scheduled_at: Date | null;
  readonly published_at: Date | null;
  readonly created_at: Date;
};

/** Lists posts with their channels, newest first, in one statement. */
export async function listPosts(
  em: Em,
  workspaceId: string,
  { status, limit, cursor }: { status?: PostStatus; limit: number; cursor?: string },
): Promise<PostList> {
  const after = readCursor(cursor);
  const ofStatus = status ? sql`and p.status = ${status}` : sql``;
  const afterCursor = after
    ? sql`and (p.created_at, p.id) < (${after.createdAt}, ${after.id})`
    : sql``;
  const rows = await queryPlanned(
    em,
    sql<Row>`
      select p.id, ${cutTexts}, p.scheduled_at, p.published_at, p.created_at, p.status,
        coalesce(t.targets, '[]'::jsonb) as post_targets
      from posts p
      left join lateral (
        select jsonb_agg(jsonb_build_object('channel_id', pc.channel_id, 'status', pc.status) order by pc.position)
          as targets
        from post_channels pc where pc.post_id = p.id and pc.workspace_id = p.workspace_id
      ) t on true
      where p.workspace_id = ${workspaceId} ${ofStatus} ${afterCursor}
      order by p.created_at desc, p.id desc limit ${limit + 1}`,
  );
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    posts: page.map(present),
    next_cursor:
      last && rows.length > limit
        ? encodeCursor({ createdAt: last.created_at, id: last.id })
        : null,
  };
}

const present = (row: Row): PostListItem => ({
  ...row,
  scheduled_at: row.scheduled_at?.toISOString() ?? null,
  published_at: row.published_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
});
