import { sql, type RawBuilder } from 'kysely';

/** SQL: whether a channel's defaults name a file. @param channels The table's alias in the statement. */
export const namesFile = (channels: string, id: RawBuilder<unknown>): RawBuilder<boolean> =>
  sql`exists (select from jsonb_each_text(coalesce(${sql.ref(`${channels}.options`)}, '{}')) option
    where option.value = ${id}::text)`;
