import type { Orm } from '../../db/orm.ts';

const tables = [
  'posts',
  'post_channels',
  'idempotency_keys',
  'webhook_endpoints',
  'events',
] as const;

export type RowCounts = Readonly<Record<(typeof tables)[number], number>>;

/** How many rows there are of all that a call of the API can store. */
export async function storedRows(orm: Orm): Promise<RowCounts> {
  const columns = tables.map((table) => `(select count(*)::int from ${table}) as ${table}`);
  const [row] = await orm.em.fork().execute<RowCounts[]>(`select ${columns.join(', ')}`);
  if (!row) {
    throw new Error('The database counted nothing.');
  }

  return row;
}
