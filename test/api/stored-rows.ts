import type { Orm } from '../../db/orm.ts';

/** Of these, rows come and go that no call stores: the migrations, and the counters of calls. */
const apart = ['migrations', 'rate_limits'];

export type RowCounts = Readonly<Record<string, number>>;

/** How many rows there are in each table: all that a call of the API can store. */
export async function storedRows(orm: Orm): Promise<RowCounts> {
  const em = orm.em.fork();
  const tables = await em.execute<{ name: string }[]>(
    `select table_name as name from information_schema.tables
     where table_schema = 'public' and not table_name in (?) order by table_name`,
    [apart],
  );
  const columns = tables.map(({ name }) => `(select count(*)::int from "${name}") as "${name}"`);
  const [row] = await em.execute<RowCounts[]>(`select ${columns.join(', ')}`);
  if (!row) {
    throw new Error('The database counted nothing.');
  }

  return row;
}
