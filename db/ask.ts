import { boundStatement } from './bound-statement.ts';
import type { Em } from './orm.ts';
import { prepareAlways } from './prepare-statements.ts';

/**
 * Asks PostgreSQL one statement, within the transaction of `em` if there is one. For hot paths: it is prepared
 * (`prepare-statements.ts`), where PostgreSQL plans that of `em.execute` anew each time, which takes longer than most
 * statements do.
 *
 * @param text A constant: its values stand apart as `$1`, `$2` and so on, and a list is one value, for `any($1)`.
 * @throws DriverException as `em.execute` does.
 */
export async function ask<Row extends object>(
  em: Em,
  text: string,
  values: readonly unknown[],
): Promise<Row[]> {
  prepareAlways(text);
  try {
    const { rows } = await em.getKysely().executeQuery(boundStatement(text, values));
    return rows as Row[];
  } catch (error) {
    throw error instanceof Error ? em.getDriver().convertException(error) : error;
  }
}
