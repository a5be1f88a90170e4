import type { Orm } from '../../db/orm.ts';

/** Tables whose rows change without a stored object. */
const apart = ['migrations', 'installation'];

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
    `select t.relname as name, c.attname is not null as scoped
     from pg_class t left join pg_attribute c on c.attrelid = t.oid and c.attname = 'workspace_id'
     where t.relnamespace = 'public'::regnamespace and t.relkind = 'r' and not t.relname in (?) order by 1`,
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
