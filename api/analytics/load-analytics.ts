import type { Em } from '../../db/orm.ts';
import {
  metricNames,
  type ChannelAnalytics,
  type PostAnalytics,
  type Sums,
  type Totals,
} from './schemas.ts';
import {
  selectChannels,
  selectSums,
  selectTexts,
  type Selection,
  type Statement,
} from './select.ts';

export type Analytics = {
  readonly totals: Totals;
  /** Of the oldest post; null when there is none. */
  readonly firstPublishedAt: Date | null;
  readonly posts: readonly PostAnalytics[];
  readonly hasMore: boolean;
};

type PostRow = Sums & { readonly post_id: string; readonly published_at: string };
type SumsRow = {
  readonly totals: Totals & { readonly first_published_at: string | null };
  readonly page: readonly PostRow[];
};

type Texts = Pick<PostAnalytics, 'post_id' | 'body' | 'thread' | 'body_truncated'>;

type ChannelRow = Omit<ChannelAnalytics, 'metrics' | 'metrics_updated_at'> & {
  readonly post_id: string;
  readonly metrics: Readonly<Record<string, unknown>> | null;
  readonly metrics_updated_at: string | Date | null;
};

/** Three statements, however many posts there are. */
export async function loadAnalytics(em: Em, selection: Selection): Promise<Analytics> {
  const rowsOf = <Row>({ sql, parameters }: Statement): Promise<Row[]> =>
    em.execute<Row[]>(sql, [...parameters]);
  const [sums] = await rowsOf<SumsRow>(selectSums(selection));
  if (!sums) {
    throw new Error('The database summed nothing up.');
  }

  const { totals, page } = sums;
  const ids = page.map(({ post_id: id }) => id);
  const channels = ids.length > 0 ? await rowsOf<ChannelRow>(selectChannels(selection, ids)) : [];
  const texts = ids.length > 0 ? await rowsOf<Texts>(selectTexts(selection, ids)) : [];
  const byPost = Map.groupBy(channels, ({ post_id: id }) => id);
  const textsOf = new Map(texts.map((row) => [row.post_id, row]));
  return {
    totals: { posts: totals.posts, ...sumsOf(totals) },
    firstPublishedAt: totals.first_published_at ? new Date(totals.first_published_at) : null,
    posts: page.map((post) =>
      present(post, byPost.get(post.post_id) ?? [], textsOf.get(post.post_id)),
    ),
    hasMore: selection.offset + page.length < totals.posts,
  };
}

const present = (
  post: PostRow,
  channels: readonly ChannelRow[],
  texts: Texts | undefined,
): PostAnalytics => ({
  post_id: post.post_id,
  body: texts?.body ?? null,
  thread: texts?.thread ?? null,
  body_truncated: texts?.body_truncated ?? false,
  published_at: new Date(post.published_at).toISOString(),
  channels: channels.map((channel) => ({
    channel_id: channel.channel_id,
    platform: channel.platform,
    handle: channel.handle,
    url: channel.url,
    metrics: metricsOf(channel.metrics ?? {}),
    metrics_updated_at: channel.metrics_updated_at
      ? new Date(channel.metrics_updated_at).toISOString()
      : null,
  })),
  totals: sumsOf(post),
});

const sumsOf = ({ impressions, likes, comments, shares, saves, engagement }: Sums): Sums => ({
  impressions,
  likes,
  comments,
  shares,
  saves,
  engagement,
});

/** Only what the network told, and only what the contract has a name for. */
const metricsOf = (stored: Readonly<Record<string, unknown>>): Record<string, number> =>
  Object.fromEntries(
    metricNames.flatMap((name) => {
      const value = stored[name];
      return typeof value === 'number' ? [[name, value]] : [];
    }),
  );
