import type { Orm } from '../../db/orm.ts';

/** The process that all others of PostgreSQL are children of. */
export async function postmasterPid(orm: Orm): Promise<number> {
  const sql = `select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int as pid`;
  const [row] = await orm.em.fork().execute<{ pid: number }[]>(sql);
  return row?.pid ?? 0;
}
