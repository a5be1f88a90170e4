import type { ExecutionContext } from 'ava';
import { migrate } from '../../db/migrate.ts';
import { createOrm, type Orm } from '../../db/orm.ts';
import { emptyDatabase } from './database.ts';

export type HeldClock = {
  readonly orm: Orm;
  /** Of the test's own. */
  readonly url: string;
  readonly now: () => Date;
  /** Moves the clock, of the database too. In milliseconds. */
  readonly pass: (ms: number) => void;
  /** Resolves when the database knows of all that has passed. */
  readonly caughtUp: () => Promise<void>;
};

/** A migrated database whose `clock_timestamp()` is the test's clock, which stands still until the test moves it. */
export async function databaseWithClock(t: ExecutionContext, startMs: number): Promise<HeldClock> {
  const url = await emptyDatabase(t);
  const setUp = createOrm(url, { poolSize: 2 });
  await migrate(setUp);
  await setUp.em.execute('create schema clock');
  await setUp.em.execute('create table clock.at (at timestamptz)');
  await setUp.em.execute('insert into clock.at values (?)', [new Date(startMs)]);
  await setUp.em.execute(
    `create function clock.clock_timestamp() returns timestamptz language sql volatile as 'select at from clock.at'`,
  );
  await setUp.em.execute(
    `alter database ${new URL(url).pathname.slice(1)} set search_path = clock, pg_catalog, public`,
  );
  await setUp.close();
  const orm = createOrm(url, { poolSize: 5 });
  let nowMs = startMs;
  let told: Promise<unknown> = Promise.resolve();
  t.teardown(async () => {
    await told; // A pool that is closed while somebody waits for a connection never closes.
    await orm.close();
  });
  return {
    orm,
    url,
    now: () => new Date(nowMs),
    pass: (ms) => {
      nowMs += ms;
      const at = new Date(nowMs);
      told = told.then(() => orm.em.fork().execute('update clock.at set at = ?', [at]));
    },
    caughtUp: async () => void (await told),
  };
}
