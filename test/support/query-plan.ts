import { CompiledQuery } from 'kysely';
import type { Em, Orm } from '../../db/orm.ts';

export type Query = { readonly sql: string; readonly values: readonly unknown[] };

/** @param around Is called for each statement that `query` runs, and runs it. */
export function aroundQueries(
  em: Em,
  around: <T>(run: () => Promise<T>, query: Query) => Promise<T>,
): Em {
  const kysely = em.getKysely.bind(em);
  const getKysely = () => {
    const inner = kysely();
    const executeQuery: typeof inner.executeQuery = (statement) => {
      const { sql, parameters } = 'sql' in statement ? statement : statement.compile();
      return around(() => inner.executeQuery(statement), { sql, values: parameters });
    };
    return { executeQuery };
  };
  return Object.assign(em, { getKysely }) as unknown as Em;
}

/** An entity manager that keeps the statements which `query` runs. */
export function watched(em: Em): { em: Em; queries: Query[] } {
  const queries: Query[] = [];
  const kept = aroundQueries(em, (run, query) => {
    queries.push(query);
    return run();
  });
  return { em: kept, queries };
}

/** Runs the text of a statement as it was sent, with its values bound. */
export async function runSent<Row>(em: Em, { sql, values }: Query): Promise<Row[]> {
  const { rows } = await em.getKysely().executeQuery(CompiledQuery.raw(sql, [...values]));
  return rows as Row[];
}

/** How PostgreSQL runs a query. */
export async function planOf(orm: Orm, query: Query | undefined): Promise<string> {
  if (!query) {
    throw new Error('There is no query.');
  }

  const explained = { ...query, sql: `explain ${query.sql}` };
  const rows = await runSent<Record<string, string>>(orm.em.fork(), explained);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}
