import { Readable } from 'node:stream';
import { selectCsvRows, type CsvRow } from '../../db/analytics/csv.ts';
import type { Filter } from '../../db/analytics/filter.ts';
import type { Orm } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';
import { metricNames } from '../../networks/network.ts';
import type { ServiceDeps } from '../deps.ts';
import { daysAsked, filterOf, metricsOf, type PublishedSearch } from './selection.ts';

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
 */
export function exportCsv(
  { orm, now }: Pick<ServiceDeps, 'orm' | 'now'>,
  workspaceId: string,
  request: CsvRequest,
  assertStillAllowed: () => Promise<void>,
): Readable {
  // A generated client sends the defaults.
  const { order = 'desc', sort = 'date', limit = 50, offset = 0 } = request;
  const isOfPage = { limit: limit !== 50, offset: offset !== 0, sort: sort !== 'date' };
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

/** Reads page by page at the client's speed: memory use is constant, and no connection is held while the client is slow. */
const streamCsv = (...pages: Parameters<typeof pagesOf>): Readable =>
  Readable.from(pagesOf(...pages), { objectMode: false });

async function* pagesOf(
  orm: Orm,
  filter: Filter,
  order: Order,
  assertStillAllowed: () => Promise<void>,
): AsyncGenerator<string> {
  yield line([...columns]);
  let last: CsvRow | undefined;
  do {
    await assertStillAllowed();
    const rows = await selectCsvRows(orm.em.fork(), filter, order, last);
    last = rows.at(-1);
    if (rows.length > 0) {
      yield rows.map((row) => line(cellsOf(row))).join('');
    }
  } while (last);
}

function cellsOf(row: CsvRow): (string | number | null)[] {
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
    row.own_text ?? row.thread?.join('\n\n') ?? row.body,
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
