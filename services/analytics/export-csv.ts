import { Readable } from 'node:stream';
import { sql, type RawBuilder } from 'kysely';
import type { Orm } from '../../db/orm.ts';
import { queryPlanned } from '../../db/query.ts';
import { cutTexts } from '../../db/load-post-view.ts';
import { AppError } from '../../domain/errors.ts';
import { metricNames } from '../../networks/network.ts';
import type { ServiceDeps } from '../deps.ts';
import {
  daysAsked,
  filterOf,
  isListed,
  matchesFilter,
  metricsOf,
  type Filter,
  type PublishedSearch,
} from './selection.ts';

/** Posts per page in memory. */
const postsAtOnce = 500;

const columns = [
  'post_id',
  'published_at',
  'channel_id',
  'platform',
  'handle',
  'url',
  'text',
  ...metricNames,
  'engagement',
  'metrics_updated_at',
  'gone_at',
] as const;

type Row = {
  readonly post_id: string;
  /** The post's time; a channel may have published later. */
  readonly key_at: Date;
  readonly published_at: Date;
  readonly channel_id: string;
  readonly platform: string;
  readonly handle: string;
  readonly url: string | null;
  readonly body: string | null;
  readonly thread: readonly string[] | null;
  readonly metrics: Readonly<Record<string, unknown>> | null;
  readonly metrics_updated_at: Date | null;
  readonly gone_at: Date | null;
};

type Order = 'asc' | 'desc';

type CsvRequest = PublishedSearch & {
  readonly order?: Order | undefined;
  readonly sort?: string | undefined;
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
};

/**
 * Exports all selected posts by publishing time, one line per channel.
 *
 * @param assertStillAllowed Called before each page, because a slow client may read for hours.
 * @throws AppError `invalid_request` for a parameter that CSV does not support.
 */
export function exportCsv(
  { orm, now }: Pick<ServiceDeps, 'orm' | 'now'>,
  workspaceId: string,
  request: CsvRequest,
  assertStillAllowed: () => Promise<void>,
): Readable {
  const { order = 'desc', sort = 'date', limit, offset } = request;
  const isOfPage = {
    limit: limit !== undefined,
    offset: offset !== undefined,
    sort: sort !== 'date',
  };
  const details = Object.entries(isOfPage).flatMap(([name, isGiven]) =>
    isGiven ? [{ path: `?${name}`, message: 'is not for csv, which has all posts by date' }] : [],
  );
  const [first] = details;
  if (first) {
    throw new AppError('invalid_request', `${first.path} ${first.message}.`, { details });
  }

  const filter = filterOf(workspaceId, request, daysAsked(request, now()));
  return streamCsv(orm, filter, order, assertStillAllowed);
}

/**
 * Reads page by page at the client's speed, with keyset pagination: memory use is constant, and no database connection
 * is held while the client is slow.
 */
const streamCsv = (...pages: Parameters<typeof pagesOf>): Readable =>
  Readable.from(pagesOf(...pages), { objectMode: false });

async function* pagesOf(
  orm: Orm,
  filter: Filter,
  order: Order,
  assertStillAllowed: () => Promise<void>,
): AsyncGenerator<string> {
  yield line([...columns]);
  let last: Row | undefined;
  do {
    await assertStillAllowed();
    const rows = await queryPlanned(orm.em.fork(), selectRows(filter, order, last));
    last = rows.at(-1);
    if (rows.length > 0) {
      yield rows.map((row) => line(cellsOf(row))).join('');
    }
  } while (last);
}

function cellsOf(row: Row): (string | number | null)[] {
  const isRead = row.metrics_updated_at !== null;
  const metrics = isRead ? metricsOf(row.metrics ?? {}) : {};
  const { likes = 0, comments = 0, shares = 0, saves = 0 } = metrics;
  return [
    row.post_id,
    row.published_at.toISOString(),
    row.channel_id,
    row.platform,
    row.handle,
    row.url,
    row.body ?? row.thread?.join('\n\n') ?? null,
    ...metricNames.map((name) => metrics[name] ?? null),
    isRead ? likes + comments + shares + saves : null,
    row.metrics_updated_at?.toISOString() ?? null,
    row.gone_at?.toISOString() ?? null,
  ];
}

const line = (cells: readonly (string | number | null)[]): string =>
  `${cells.map(cell).join(',')}\r\n`;

/**
 * Spreadsheets skip blanks and invisible characters before a formula, and some treat full-width signs as plain ones.
 */
const looksLikeFormula = /^[\p{Cc}\p{Cf}\p{Z}]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|^[\t\r\n]/v;

/**
 * Formats a cell as in RFC 4180. A text that a spreadsheet would run as a formula gets a leading apostrophe: an
 * injected formula, but also a handle such as `@ana`.
 */
function cell(value: string | number | null): string {
  const text = value === null ? '' : String(value);
  const plain = typeof value === 'string' && looksLikeFormula.test(text) ? `'${text}` : text;
  return /[",\r\n]/v.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

function selectRows(filter: Filter, order: Order, last: Row | undefined): RawBuilder<Row> {
  const [way, beyond] = order === 'asc' ? [sql`asc`, sql`>`] : [sql`desc`, sql`<`];
  const rest = last
    ? sql`and (pm.published_at, pm.post_id) ${beyond} (${last.key_at}::timestamptz, ${last.post_id}::uuid)`
    : sql``;
  return sql`
    with page as materialized (
      select pm.post_id, pm.published_at from post_metrics pm where ${matchesFilter(filter)} ${rest}
      order by pm.published_at ${way}, pm.post_id ${way} limit ${postsAtOnce}
    )
    select page.post_id, page.published_at as key_at, pc.published_at, pc.channel_id, c.platform, c.handle, pc.url,
      ${cutTexts}, pc.metrics, pc.metrics_updated_at, pc.gone_at
    from page join posts p on p.id = page.post_id join post_channels pc on pc.post_id = page.post_id
      join channels c on c.id = pc.channel_id
    where ${isListed(filter)}
    order by page.published_at ${way}, page.post_id ${way}, pc.position, pc.id`;
}
