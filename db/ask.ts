import type { Em } from './orm.ts';

type Statement = Parameters<ReturnType<Em['getKysely']>['executeQuery']>[0];

/**
 * Asks PostgreSQL one statement, within the transaction of `em` if there is one. For hot paths: it is prepared
 * (`prepare-statements.ts`), where `em.execute` writes the values into the text, so that PostgreSQL plans it anew each
 * time, which takes longer than most statements do.
 *
 * @param text A constant: its values stand apart as `$1`, `$2` and so on, and a list is one value, for `any($1)`.
 * @throws DriverException as `em.execute` does.
 */
export async function ask<Row extends object>(
  em: Em,
  text: string,
  values: readonly unknown[],
): Promise<Row[]> {
  const statement: Statement = {
    sql: text,
    parameters: values,
    query: { kind: 'RawNode', sqlFragments: [text], parameters: [] },
    queryId: { queryId: '' },
  };
  try {
    const { rows } = await em.getKysely().executeQuery(statement);
    return rows as Row[];
  } catch (error) {
    throw error instanceof Error ? em.getDriver().convertException(error) : error;
  }
}
