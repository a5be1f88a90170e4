import type { Orm } from '../../../../db/orm.ts';
import { metricNames } from '../../../../networks/network.ts';

/** A published channel of a post. */
export type Row = {
  readonly post_id: string;
  readonly channel_id: string;
  readonly platform: string;
  readonly position: number;
  readonly id: string;
  readonly published_at: Date;
  readonly metrics: Readonly<Record<string, number>> | null;
  readonly metrics_updated_at: Date | null;
};

export type Asked = {
  readonly from?: string;
  readonly to?: string;
  readonly post_id?: string;
  readonly channel_id?: string;
  readonly platform?: string;
  readonly sort?: string;
  readonly order?: 'asc' | 'desc';
  readonly limit?: number;
  readonly offset?: number;
};

export const publishedRows = (orm: Orm, workspaceId: string): Promise<Row[]> =>
  orm.em.fork().execute<Row[]>(
    `select pc.*, c.platform from post_channels pc join channels c on c.id = pc.channel_id
     where pc.workspace_id = ? and pc.status = 'published' and pc.published_at is not null`,
    [workspaceId],
  );

/** The expected answer of `GET /analytics`, computed from all rows. */
export function recompute(rows: readonly Row[], asked: Asked) {
  const meant = rows.filter(
    (row) =>
      (asked.post_id ?? row.post_id) === row.post_id &&
      (asked.channel_id ?? row.channel_id) === row.channel_id &&
      (asked.platform ?? row.platform) === row.platform,
  );
  const posts = [...Map.groupBy(meant, (row) => row.post_id).values()]
    .map(postOf)
    .filter(({ published_at: at }) => {
      const day = at.slice(0, 10);
      return asked.post_id !== undefined || (day >= (asked.from ?? '') && day <= (asked.to ?? '9'));
    })
    .toSorted(orderBy(asked.sort ?? 'date', asked.order ?? 'desc'));
  const { limit = 50, offset = 0 } = asked;
  return {
    totals: {
      posts: posts.length,
      posts_without_metrics: posts.filter(({ isUnread }) => isUnread).length,
      ...totalsOf(posts.flatMap(({ rows: its }) => its)),
    },
    posts: posts.slice(offset, offset + limit).map(shown),
    has_more: posts.length > offset + limit,
  };
}

const shown = ({ post_id, published_at, rows, totals }: Post) => ({
  post_id,
  published_at,
  channels: rows.map(({ channel_id: id, metrics, metrics_updated_at: at }) => ({
    channel_id: id,
    metrics: at && metrics,
    metrics_updated_at: at?.toISOString() ?? null,
  })),
  totals,
});

type Post = ReturnType<typeof postOf>;

const postOf = (unordered: readonly Row[]) => {
  const rows = unordered.toSorted(
    (a, b) => a.position - b.position || (a.id < b.id ? -1 : Number(a.id > b.id)),
  );
  const first = Math.min(...rows.map(({ published_at: at }) => at.getTime()));
  return {
    post_id: rows[0]?.post_id ?? '',
    published_at: new Date(first).toISOString(),
    isUnread: rows.some(({ metrics_updated_at: at }) => at === null),
    rows,
    totals: totalsOf(rows),
  };
};

type Sums = { readonly [K in (typeof metricNames)[number] | 'engagement']: number | null };

/** The sums in an answer: null for posts of which nothing was read. */
function totalsOf(rows: readonly Row[]): Sums {
  const isRead = rows.length === 0 || rows.some(({ metrics_updated_at: at }) => at !== null);
  const none = { likes: null, comments: null, shares: null, saves: null, engagement: null };
  return { ...sumsOf(rows), ...(!isRead && none) };
}

export function sumsOf(rows: readonly Row[]) {
  const [impressions, likes = 0, comments = 0, shares = 0, saves = 0] = metricNames.map((name) =>
    rows.reduce((sum, { metrics }) => sum + (metrics?.[name] ?? 0), 0),
  );
  const isTold = rows.some(({ metrics }) => metrics?.['impressions'] !== undefined);
  return {
    impressions: isTold ? (impressions ?? 0) : null,
    likes,
    comments,
    shares,
    saves,
    engagement: likes + comments + shares + saves,
  };
}

function orderBy(sort: string, order: 'asc' | 'desc'): (a: Post, b: Post) => number {
  const way = order === 'asc' ? 1 : -1;
  const newestFirst = (a: Post, b: Post): number => (keyOf(a) < keyOf(b) ? 1 : -1);
  if (sort === 'date') {
    return (a, b) => -way * newestFirst(a, b);
  }

  const valueOf = ({ totals }: Post): number | null => totals[sort as keyof Post['totals']];
  return (a, b) => {
    const [one, other] = [valueOf(a), valueOf(b)];
    if (one === other) {
      return newestFirst(a, b);
    }

    return one === null ? 1 : other === null ? -1 : way * (one - other);
  };
}

const keyOf = ({ published_at: at, post_id: id }: Post): string => `${at} ${id}`;
