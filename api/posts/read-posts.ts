import { loadPostView } from '../../db/load-post-view.ts';
import type { Em } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';
import type { PostStatus } from '../../domain/post-status.ts';
import type { PostView } from '../../domain/post-view.ts';
import type { ApiDeps } from '../deps.ts';
import { encodeCursor, readCursor } from '../http/cursor.ts';
import { cutTexts } from './cut-texts.ts';
import type { PostList, PostSummary } from './schemas.ts';

/** @throws AppError `not_found` */
export async function showPost(
  deps: ApiDeps,
  workspaceId: string,
  id: string,
): Promise<{ post: PostView }> {
  const post = await loadPostView(deps.orm.em.fork(), workspaceId, id, deps);
  if (!post) {
    throw new AppError('not_found', `There is no post "${id}".`);
  }

  return { post };
}

type Time = string | Date;
type Row = Omit<PostSummary, 'scheduled_at' | 'published_at' | 'created_at'> & {
  readonly scheduled_at: Time | null;
  readonly published_at: Time | null;
  readonly created_at: Time;
};

/** The newest posts first, `limit` at a time, each with its channels. One statement, however many there are. */
export async function listPosts(
  em: Em,
  workspaceId: string,
  { status, limit, cursor }: { status?: PostStatus; limit: number; cursor?: string },
): Promise<PostList> {
  const after = readCursor(cursor);
  const rows = await em.execute<Row[]>(
    `select p.id, ${cutTexts}, p.scheduled_at, p.published_at, p.created_at, p.status, coalesce(t.targets, '[]'::jsonb) as post_targets
     from posts p
     left join lateral (
       select jsonb_agg(jsonb_build_object('channel_id', pc.channel_id, 'status', pc.status) order by pc.position) as targets
       from post_channels pc where pc.post_id = p.id and pc.workspace_id = p.workspace_id
     ) t on true
     where p.workspace_id = ? ${status ? 'and p.status = ?' : ''} ${after ? 'and (p.created_at, p.id) < (?, ?)' : ''}
     order by p.created_at desc, p.id desc limit ?`,
    [
      workspaceId,
      ...(status ? [status] : []),
      ...(after ? [after.createdAt, after.id] : []),
      limit + 1,
    ],
  );
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    posts: page.map(present),
    next_cursor:
      last && rows.length > limit
        ? encodeCursor({ createdAt: new Date(last.created_at), id: last.id })
        : null,
  };
}

const present = (row: Row): PostSummary => ({
  ...row,
  scheduled_at: iso(row.scheduled_at),
  published_at: iso(row.published_at),
  created_at: new Date(row.created_at).toISOString(),
});

const iso = (at: Time | null): string | null => (at === null ? null : new Date(at).toISOString());
