import type { ExecutionContext } from 'ava';
import { createOrm, type Orm } from '../../db/orm.ts';
import { execute, patience } from './database.ts';

export type HeldClock = {
  readonly orm: Orm;
  /** URL of the same database, with the same clock. */
  readonly url: string;
  readonly now: () => Date;
  /** Moves the clock, also the database's, in milliseconds. */
  readonly pass: (ms: number) => void;
  /** Resolves when the database's clock has the latest time. */
  readonly caughtUp: () => Promise<void>;
};

/**
 * Connections to a database whose `clock_timestamp()` is a clock that only the test moves. Other connections to the
 * same database keep their own clocks: each clock is a function in a schema, which comes first in the search path of
 * the connection's role.
 */
export async function heldClock(
  t: ExecutionContext,
  databaseUrl: string,
  startMs: number,
): Promise<HeldClock> {
  const schema = `clock_${crypto.randomUUID().replaceAll('-', '')}`;
  const make = [
    `create schema ${schema}`,
    `create table ${schema}.at as select timestamptz '${new Date(startMs).toISOString()}' as at`,
    `create function ${schema}.clock_timestamp() returns timestamptz language sql volatile
     as 'select at from ${schema}.at'`,
    // MikroORM drops a URL's parameters, so the settings belong to a role, which the URL names.
    `create role ${schema} login superuser password '${schema}'`,
    `alter role ${schema} set search_path = ${schema}, pg_catalog, public`,
    `alter role ${schema} set application_name = ${schema}`, // `untilBlocked` finds its connections by it.
  ];
  await execute(databaseUrl, make.join(';'));
  t.teardown(() => execute(databaseUrl, `drop role ${schema}`));
  const url = new URL(databaseUrl);
  url.username = schema;
  url.password = schema;
  const orm = createOrm(url.href, { poolSize: 5, ...patience });
  let nowMs = startMs;
  let written: Promise<unknown> = Promise.resolve();
  t.teardown(async () => {
    await written; // A pool that closes while a query waits for a connection hangs.
    await orm.close();
  });
  return {
    orm,
    url: url.href,
    now: () => new Date(nowMs),
    pass: (ms) => {
      nowMs += ms;
      const at = new Date(nowMs);
      written = written.then(() => orm.em.fork().execute(`update ${schema}.at set at = ?`, [at]));
    },
    caughtUp: async () => void (await written),
  };
}
