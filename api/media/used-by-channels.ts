import { sql, type RawBuilder } from 'kysely';

/** SQL: whether the defaults of a channel name a file. @param channels What the statement calls the table. */
export const namesFile = (channels: string, id: RawBuilder<unknown>): RawBuilder<boolean> =>
  sql`exists (select from jsonb_each_text(coalesce(${sql.ref(`${channels}.options`)}, '{}')) option
    where option.value = ${id}::text)`;
