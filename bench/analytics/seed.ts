import { connectChannel } from '../../services/channels/connect-channel.ts';
import { createWorkspace } from '../../cli/admin/workspaces.ts';
import type { Orm } from '../../db/orm.ts';
import type { Sealer } from '../../runtime/secrets.ts';

/**
 * Creates a workspace with this many published posts of the last year, each on one of two channels, with metrics.
 *
 * Inserts rows and sums with SQL, like the migration does for existing rows: a million calls of the trigger would take
 * longer than the whole bench. @returns the workspace's id.
 */
export async function seed(orm: Orm, sealer: Sealer, posts: number): Promise<string> {
  const em = orm.em.fork();
  const workspaceId = await createWorkspace(em, `${posts} posts`);
  const channels: string[] = [];
  for (const platform of ['mastodon', 'bluesky']) {
    const account = {
      baseUrl: 'https://social.example',
      remoteId: 'me',
      handle: '@me',
      credentials: { token: 'none' },
      session: null,
      settings: {},
    };
    channels.push((await connectChannel(orm.em.fork(), sealer, workspaceId, platform, account)).id);
  }

  await em.execute('alter table post_channels disable trigger user');
  await em.execute(insertPosts, [workspaceId, posts, posts]);
  await em.execute(insertChannels, [...channels, workspaceId]);
  await em.execute(sumUp, [workspaceId]);
  await em.execute('alter table post_channels enable trigger user');
  await em.execute('vacuum analyze');
  return workspaceId;
}

const insertPosts = `
  insert into posts
    (id, workspace_id, body, scheduled_at, status, synced_revision, published_at, created_at, updated_at)
  select uuidv7(at - now()), ?, 'The ' || n || 'th post of this workspace, about as long as posts are. ' || repeat('So it goes. ', 10),
    at, 'published', 1, at, at, at
  from generate_series(1, ?::int) n,
    lateral (select date_trunc('milliseconds', now() - n * interval '360 days' / ?::int) as at) t`;

const insertChannels = `
  insert into post_channels
    (id, workspace_id, post_id, channel_id, position, status, url, published_at, metrics, metrics_updated_at)
  select uuidv7(), p.workspace_id, p.id, (array[?::uuid, ?::uuid])[1 + (row_number() over ()) % 2], 0, 'published',
    'https://social.example/' || p.id, p.published_at,
    jsonb_build_object('impressions', random(0, 5000), 'likes', random(0, 300), 'comments', random(0, 40), 'shares', random(0, 60)),
    p.published_at
  from posts p where p.workspace_id = ?`;

const sumUp = `
  insert into post_metrics
    (post_id, scope, workspace_id, published_at, channels, unread, with_impressions, impressions, likes, comments, shares, saves)
  select pc.post_id, scope, pc.workspace_id, pc.published_at, 1, 0, 1, (pc.metrics->>'impressions')::bigint,
    (pc.metrics->>'likes')::bigint, (pc.metrics->>'comments')::bigint, (pc.metrics->>'shares')::bigint, 0
  from post_channels pc join channels c on c.id = pc.channel_id
  cross join lateral unnest(array['all', c.platform, c.id::text]) scope
  where pc.workspace_id = ?
  order by pc.published_at -- As time goes by: an index that is filled backwards has half-empty pages.`;
