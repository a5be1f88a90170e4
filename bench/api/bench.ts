import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { migrate } from '../../db/migrate.ts';
import { createOrm } from '../../db/orm.ts';
import { createSealer } from '../../runtime/secrets.ts';
import type { Bench } from '../runner/bench.ts';
import { startDatabase } from '../runner/processes.ts';
import { compareWithBare } from './compare-with-bare.ts';
import { compareWithSql } from './compare-with-sql.ts';
import { measureFilters } from './measure-filters.ts';
import { seed, seedLarge, type Seeded } from './seed.ts';
import type { World } from './world.ts';

/** `npm run bench api`: compares the API with a bare server, and lists with their own SQL. */
export const bench: Bench<object, World> = {
  readOptions: (args) => parseArgs({ args: [...args], options: {} }).values,
  prepare: async ({ folder, stage }) => {
    const databaseUrl = await startDatabase(folder, stage);
    const secretKey = randomBytes(32).toString('hex');
    const sealer = createSealer(secretKey);
    const orm = createOrm(databaseUrl, { poolSize: 2, queryTimeoutMs: 600_000 });
    await migrate(databaseUrl);
    const small = await seed(orm, sealer, 1000);
    const readers: Seeded[] = [];
    for (let n = 0; n < 8; n += 1) {
      readers.push(await seed(orm, sealer, 100));
    }

    const listed = await seed(orm, sealer, 10_000);
    const analysed = await seed(orm, sealer, 100_000);
    const large = await seedLarge(orm, 1_000_000);
    await orm.em.fork().execute('vacuum analyze');
    return { folder, stage, orm, databaseUrl, secretKey, small, readers, listed, analysed, large };
  },
  measure: async (world, { target }) => {
    await compareWithBare(world, target);
    await compareWithSql(world, target);
    await measureFilters(world, target);
  },
  close: ({ orm }) => orm.close(),
};
