import {
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type Compilable,
  type CompiledQuery,
  type Driver,
  type RawBuilder,
} from 'kysely';
import type { Database } from './entities/index.ts';
import type { Em } from './orm.ts';
import { prepareAlways } from './pool.ts';

/** Only compiles statements: `query` runs them, within the transaction of its `em`. */
const compiling: Driver = {
  init: () => Promise.resolve(),
  destroy: () => Promise.resolve(),
  acquireConnection: () => {
    throw new Error('Run the statement with query(em, …).');
  },
  beginTransaction: () => Promise.resolve(),
  commitTransaction: () => Promise.resolve(),
  rollbackTransaction: () => Promise.resolve(),
  releaseConnection: () => Promise.resolve(),
};

/**
 * Builds statements whose tables and columns the compiler checks. Use Kysely's `sql` template where SQL reads better
 * (locks, `with`, several tables); both compose.
 */
export const db = new Kysely<Database>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => compiling,
    createIntrospector: (kysely) => new PostgresIntrospector(kysely),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

export type Statement<Row> = RawBuilder<Row> | Compilable<Row>;

/**
 * Runs a prepared statement, within the transaction of `em` if there is one. Values are bound, and PostgreSQL plans the
 * statement once per connection. Pass a list as one value, `any(${list})`, so that its length does not change the text.
 *
 * Times are `Date`, but strings within JSON; `bigint` and `numeric` are strings.
 *
 * @returns the rows of `select` or `returning`.
 * @throws DriverException of MikroORM, without the values.
 */
export async function query<Row>(em: Em, statement: Statement<Row>): Promise<Row[]> {
  const compiled = statement.compile(db);
  prepareAlways(compiled.sql);
  return run(em, compiled);
}

/**
 * Like `query`, but PostgreSQL plans the statement at each call, for its values. Use it for lists, sums and sets of a
 * workspace's rows: the best index depends on the number of rows, and a generic plan assumes the average. With one, a
 * list of failed posts would read every post of a large workspace.
 */
export const queryPlanned = <Row>(em: Em, statement: Statement<Row>): Promise<Row[]> =>
  run(em, statement.compile(db));

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
