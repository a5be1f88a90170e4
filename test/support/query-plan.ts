import { CompiledQuery } from 'kysely';
import type { Em, Orm } from '../../db/orm.ts';

export type Query = { readonly sql: string; readonly values: readonly unknown[] };

/** @param around Called for each statement of `query` instead of running it; it runs the statement itself. */
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

/** An entity manager that records the statements of `query`. */
export function watched(em: Em): { em: Em; queries: Query[] } {
  const queries: Query[] = [];
  const kept = aroundQueries(em, (run, query) => {
    queries.push(query);
    return run();
  });
  return { em: kept, queries };
}

/** Runs a statement's exact text with its values bound. */
export async function runSent<Row>(em: Em, { sql, values }: Query): Promise<Row[]> {
  const { rows } = await em.getKysely().executeQuery(CompiledQuery.raw(sql, [...values]));
  return rows as Row[];
}

/** PostgreSQL's plan of a query. */
export async function planOf(orm: Orm, query: Query | undefined): Promise<string> {
  if (!query) {
    throw new Error('The query is missing.');
  }

  const explained = { ...query, sql: `explain ${query.sql}` };
  const rows = await runSent<Record<string, string>>(orm.em.fork(), explained);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}
