import { connectChannel } from '../../services/channels/connect-channel.ts';
import { createApiKey, createWorkspace } from '../../cli/admin/workspaces.ts';
import type { Orm } from '../../db/orm.ts';
import type { Sealer } from '../../runtime/secrets.ts';

export type Seeded = {
  readonly workspaceId: string;
  readonly key: string;
  readonly channelIds: readonly [string, string];
};

/**
 * Creates a workspace with two channels and this many published posts on both, with metrics, one every four minutes.
 *
 * Inserts rows with SQL: the API would take longer for a hundred thousand than the whole bench.
 */
export async function seed(orm: Orm, sealer: Sealer, posts: number): Promise<Seeded> {
  const em = orm.em.fork();
  const workspaceId = await createWorkspace(em, `${posts} posts`);
  const key = await createApiKey(em, workspaceId);
  const add = async (platform: string): Promise<string> => {
    const account = {
      baseUrl: 'https://social.example',
      remoteId: 'me',
      handle: '@me',
      credentials: { token: 'none' },
      session: null,
      settings: {},
    };
    return (await connectChannel(orm.em.fork(), sealer, workspaceId, platform, account)).id;
  };
  const channelIds = [await add('mastodon'), await add('bluesky')] as const;
  await em.execute(insertPosts, [workspaceId, posts]);
  for (const [position, channelId] of channelIds.entries()) {
    await em.execute(insertChannels, [channelId, position, workspaceId]);
  }

  return { workspaceId, key, channelIds };
}

const insertPosts = `
  insert into posts
    (id, workspace_id, body, scheduled_at, status, synced_revision, published_at, created_at, updated_at)
  select uuidv7(at - now()), ?, 'The ' || n || 'th post of this workspace, about as long as posts are. ' || repeat('So it goes. ', 10),
    at, 'published', 1, at, at, at
  from generate_series(1, ?::int) n, lateral (select date_trunc('milliseconds', now()) - n * interval '4 minutes' as at) t`;

const insertChannels = `
  insert into post_channels
    (id, workspace_id, post_id, channel_id, position, status, url, published_at, metrics, metrics_updated_at)
  select uuidv7(), p.workspace_id, p.id, ?, ?, 'published', 'https://social.example/' || p.id, p.published_at,
    jsonb_build_object('impressions', random(0, 5000), 'likes', random(0, 300), 'comments', random(0, 40), 'shares', random(0, 60)),
    p.published_at
  from posts p where p.workspace_id = ?`;

/** Creates a workspace with this many posts without channels. Every second post has the word a1, every hundredth b1, and so on. */
export async function seedLarge(
  orm: Orm,
  posts: number,
): Promise<Pick<Seeded, 'workspaceId' | 'key'>> {
  const em = orm.em.fork();
  const workspaceId = await createWorkspace(em, `${posts} posts`);
  const key = await createApiKey(em, workspaceId);
  await em.execute(insertLarge, [workspaceId, posts]);
  return { workspaceId, key };
}

const insertLarge = `
  insert into posts
    (id, workspace_id, body, scheduled_at, status, synced_revision, published_at, created_at, updated_at, tags)
  select uuidv7(at - now()), ?, format('album a%s b%s c%s d%s', n % 2, n % 100, n % 1000, n % 10000),
    at, case when n % 20 = 0 then 'draft' else 'published' end, 1, case when n % 20 > 0 then at end, at, at,
    array['t' || n % 1000]
  from generate_series(1, ?::int) n, lateral (select date_trunc('milliseconds', now()) - n * interval '4 minutes' as at) t`;
