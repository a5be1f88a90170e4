import type { Em } from '../../db/orm.ts';

/** Stores rows as they are, in one statement: the API would take most of a bench's time for them. */
export async function insertRows(
  em: Em,
  { table, columns }: { readonly table: string; readonly columns: string },
  rows: readonly object[],
): Promise<void> {
  await em.execute(
    `insert into ${table} (${columns}) select ${columns} from jsonb_populate_recordset(null::${table}, ?::jsonb)`,
    [JSON.stringify(rows)],
  );
}
