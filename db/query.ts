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
import type { Database } from './database.ts';
import type { Em } from './orm.ts';
import { prepareAlways } from './driver/prepare-statements.ts';

/** It compiles statements and never runs one: `query` runs them, within the transaction of its `em`. */
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
 * Builds statements whose tables and columns the compiler checks. Where SQL reads better (locks, `with`, several tables),
 * Kysely's `sql` template takes its place; both compose.
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
 * Runs a statement, within the transaction of `em` if there is one. Values stand apart from its text, and it is prepared:
 * PostgreSQL plans it once for a connection. So a list is one value, for `any(${list})`, and not a text for each length.
 *
 * Moments come as `Date` (but for those inside JSON, which are texts), `bigint` and `numeric` as strings.
 *
 * @returns its rows: what `select` or `returning` names.
 * @throws DriverException of MikroORM, without the values.
 */
export async function query<Row>(em: Em, statement: Statement<Row>): Promise<Row[]> {
  const compiled = statement.compile(db);
  prepareAlways(compiled.sql);
  return run(em, compiled);
}

/**
 * The same, but PostgreSQL plans the statement at each call, for its values. For lists, sums and sets of rows of a
 * workspace: which index is best depends on how many rows that workspace has, and a plan for all of them supposes the
 * average. With it a list of failed posts would read every post of a large workspace among many small ones.
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
