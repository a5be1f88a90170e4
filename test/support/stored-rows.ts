import type { Orm } from '../../db/orm.ts';

/** Tables whose rows change without a stored object: the schema's own, and the counters of calls and quotas. */
const apart = ['migrations', 'installation', 'rate_limits', 'quota_shares'];

export type RowCounts = Readonly<Record<string, number>>;

/**
 * Counts the rows of each table that a call of the API can change.
 *
 * @param workspaceId Counts only this workspace's rows, in the tables that have the column. Without it, the database
 *   must belong to the test.
 */
export async function storedRows(orm: Orm, workspaceId?: string): Promise<RowCounts> {
  const em = orm.em.fork();
  const tables = await em.execute<{ name: string; scoped: boolean }[]>(
    `select t.table_name as name, c.column_name is not null as scoped
     from information_schema.tables t left join information_schema.columns c
       on c.table_schema = t.table_schema and c.table_name = t.table_name and c.column_name = 'workspace_id'
     where t.table_schema = 'public' and not t.table_name in (?) order by t.table_name`,
    [apart],
  );
  const counted = workspaceId === undefined ? tables : tables.filter(({ scoped }) => scoped);
  const where = workspaceId === undefined ? '' : 'where workspace_id = ?';
  const columns = counted.map(
    ({ name }) => `(select count(*)::int from "${name}" ${where}) as "${name}"`,
  );
  const [row] = await em.execute<RowCounts[]>(
    `select ${columns.join(', ')}`,
    workspaceId === undefined ? [] : counted.map(() => workspaceId),
  );
  if (!row) {
    throw new Error('The database counted nothing.');
  }

  return row;
}
