import { sql } from 'kysely';
import { cutTexts } from '../load-post-view.ts';
import type { Em } from '../orm.ts';
import { queryPlanned } from '../query.ts';
import { isListed, matchesFilter, type Filter } from './filter.ts';

/** Posts per page in memory. */
const postsAtOnce = 100;

export type CsvRow = {
  readonly post_id: string;
  /** The post's time; a channel may have published later. */
  readonly key_at: Date;
  readonly published_at: Date;
  readonly channel_id: string;
  readonly platform: string;
  readonly handle: string;
  readonly url: string | null;
  readonly own_text: string | null;
  readonly body: string | null;
  readonly thread: readonly string[] | null;
  readonly metrics: Readonly<Record<string, unknown>> | null;
  readonly metrics_updated_at: Date | null;
  readonly gone_at: Date | null;
};

/**
 * Selects the channels of the next posts by publishing time, with keyset pagination.
 *
 * @param last The last row of the page before.
 */
export function selectCsvRows(
  em: Em,
  filter: Filter,
  order: 'asc' | 'desc',
  last: CsvRow | undefined,
): Promise<CsvRow[]> {
  const [way, beyond] = order === 'asc' ? [sql`asc`, sql`>`] : [sql`desc`, sql`<`];
  const rest = last
    ? sql`and (pm.published_at, pm.post_id) ${beyond} (${last.key_at}::timestamptz, ${last.post_id}::uuid)`
    : sql``;
  return queryPlanned(
    em,
    sql<CsvRow>`
    with page as materialized (
      select pm.post_id, pm.published_at from post_metrics pm where ${matchesFilter(filter)} ${rest}
      order by pm.published_at ${way}, pm.post_id ${way} limit ${postsAtOnce}
    )
    select page.post_id, page.published_at as key_at, pc.published_at, pc.channel_id, c.platform, c.handle, pc.url,
      left(coalesce(case when p.thread is null then pc.sent_text end, pc.body), 10000) as own_text, ${cutTexts}, pc.metrics, pc.metrics_updated_at, pc.gone_at
    from page join posts p on p.id = page.post_id join post_channels pc on pc.post_id = page.post_id
      join channels c on c.id = pc.channel_id
    where ${isListed(filter)}
    order by page.published_at ${way}, page.post_id ${way}, pc.position, pc.id`,
  );
}
