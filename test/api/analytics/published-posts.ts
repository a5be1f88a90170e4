import { sumAllMetrics } from '../../support/sum-all-metrics.ts';
import { PostChannel } from '../../../db/entities/post-channels.ts';
import { Post } from '../../../db/entities/posts.ts';
import type { ChannelStatus } from '../../../domain/statuses.ts';
import type { Reply } from '../../support/client.ts';
import type { SharedApi } from '../../support/kit.ts';
import { storeChannel } from '../../support/seed.ts';

export type OnChannel = {
  readonly channel: string;
  readonly status?: ChannelStatus;
  readonly metrics?: Readonly<Record<string, number>>;
  /** When this channel published it; the post's time if omitted. */
  readonly at?: string;
};

/** Stores a post as the worker does after publishing. @returns its id. */
async function storePublished(
  { punctual }: SharedApi,
  workspaceId: string,
  { at, body, on }: { at: string | null; body: string; on: readonly OnChannel[] },
): Promise<string> {
  const em = punctual.orm.em.fork();
  const publishedAt = at === null ? null : new Date(at);
  const post = em.create(Post, {
    workspaceId,
    body,
    thread: null,
    scheduledAt: publishedAt,
    status: 'published',
    retriedAt: null,
    video: null,
    warning: null,
    publishedAt,
  });
  for (const [position, { channel, status = 'published', metrics, at: late }] of on.entries()) {
    const isOut = status === 'published';
    const outAt = late === undefined ? publishedAt : new Date(late);
    em.create(PostChannel, {
      workspaceId,
      postId: post.id,
      channelId: channel,
      position,
      body: null,
      status,
      url: isOut ? `https://social.test/${position}` : null,
      error: isOut ? null : 'No.',
      errorCode: isOut ? null : 'content_refused',
      warning: null,
      retryAt: null,
      sentText: body,
      metrics: metrics ?? null,
      metricsUpdatedAt: metrics ? new Date('2027-01-01T12:00:00.000Z') : null,
      publishedAt: isOut ? outAt : null,
    });
  }

  await em.flush();
  await sumAllMetrics(em, workspaceId);
  return post.id;
}

/** A workspace with a channel on each of three networks, and a function that queries its analytics. */
export async function workspace(api: SharedApi) {
  const client = await api.newClient();
  const { workspaceId } = client;
  const store = (account: Parameters<typeof storeChannel>[2]): Promise<string> =>
    storeChannel(api.punctual, workspaceId, account);
  const ask = (query: string): Promise<Reply> => client.get(`/analytics?${query}`);
  return {
    client,
    mastodon: await store({ handle: '@ana@social.test' }),
    bluesky: await store({ platform: 'bluesky', handle: 'b.test' }),
    x: await store({ platform: 'x', handle: '@x' }),
    publish: (at: string | null, on: readonly OnChannel[], body = 'Hello.'): Promise<string> =>
      storePublished(api, workspaceId, { at, body, on }),
    ask,
    fetchAnalytics: async (query: string) => (await ask(query)).body,
  };
}

/** The range of the five posts. */
export const january = 'from=2027-01-01&to=2027-01-31';

/**
 * Five posts on two channels, from `a` (oldest) to `e` (newest). `c` has no views, and the metrics of `e` were never
 * read.
 */
export async function fivePosts(api: SharedApi) {
  const { client, mastodon, bluesky, publish, fetchAnalytics } = await workspace(api);
  const posts: [string, string, Record<string, number> | undefined][] = [
    ['a', mastodon, { impressions: 10, likes: 1, comments: 9 }],
    ['b', bluesky, { impressions: 30, likes: 3, shares: 1 }],
    ['c', mastodon, { likes: 2, saves: 5 }],
    ['d', bluesky, { impressions: 20, likes: 3 }],
    ['e', mastodon, undefined],
  ];
  const ids: Record<string, string> = {};
  for (const [index, [name, channel, metrics]] of posts.entries()) {
    const also = name === 'a' ? [{ channel: bluesky, metrics: { likes: 1 } }] : [];
    const on = [{ channel, ...(metrics ? { metrics } : {}) }, ...also];
    ids[name] = await publish(`2027-01-1${index}T12:00:00Z`, on, name);
  }

  const namesOf = ({ posts: listed }: { posts: { body: string }[] }): string =>
    listed.map(({ body }) => body).join('');
  const names = async (query: string): Promise<string> =>
    namesOf(await fetchAnalytics(`${january}&${query}`));
  return { client, mastodon, bluesky, ids, fetchAnalytics, names, namesOf };
}

export const idsOf = ({ posts }: { posts: { post_id: string }[] }): string[] =>
  posts.map(({ post_id: id }) => id);
