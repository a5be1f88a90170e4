import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type CompiledQuery,
  type RawBuilder,
} from 'kysely';
import type { Em } from './orm.ts';
import { prepareAlways } from './pool.ts';

/** Only compiles statements: `query` runs them, within the transaction of its `em`. */
const compiler = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (kysely) => new PostgresIntrospector(kysely),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/**
 * Runs a prepared statement, within the transaction of `em` if there is one. Pass a list as one value, `any(${list})`,
 * so that its length does not change the text. Times are `Date`, but strings within JSON; `bigint` and `numeric` are
 * strings. Errors are DriverExceptions of MikroORM, without the values.
 */
export async function query<Row>(em: Em, statement: RawBuilder<Row>): Promise<Row[]> {
  const compiled = statement.compile(compiler);
  prepareAlways(compiled.sql);
  return run(em, compiled);
}

/**
 * Like `query`, but PostgreSQL plans the statement at each call. Use it for lists, sums and sets of a workspace's rows,
 * where the best index depends on the number of rows.
 */
export const queryPlanned = <Row>(em: Em, statement: RawBuilder<Row>): Promise<Row[]> =>
  run(em, statement.compile(compiler));

async function run<Row>(em: Em, compiled: CompiledQuery<Row>): Promise<Row[]> {
  try {
    const { rows } = await em.getKysely().executeQuery(compiled);
    return rows;
  } catch (error) {
    throw error instanceof Error ? em.getDriver().convertException(error) : error;
  }
}

/** PostgreSQL's `lock_not_available` and `deadlock_detected`. The transaction is rolled back and can be repeated. */
export const isContended = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === '55P03' || error.code === '40P01');
