import { MikroORM, type Options } from '@mikro-orm/postgresql';
import { Migrator } from '@mikro-orm/migrations';
import { databaseConnection } from '../runtime/config/database-connection.ts';
import { BindingDriver } from './binding-driver.ts';
import { entities } from './entities/index.ts';
import { migrations } from './migrations/index.ts';
import {
  mayPrepare,
  prepareStatements,
  limitSession,
  type Pool,
  releaseBrokenConnections,
} from './pool.ts';

export type Orm = MikroORM;
export type Em = Orm['em'];

type OrmOptions = {
  readonly poolSize?: number;
  readonly connectTimeoutMs?: number;
  /** Statement timeout; null for none. */
  readonly queryTimeoutMs?: number | null;
};

const keptAlive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };

/** Connects lazily: the first query opens the pool, so a process starts and recovers without its database. */
export function createOrm(databaseUrl: string, options: OrmOptions = {}): Orm {
  const { queryTimeoutMs = 20_000 } = options;
  const connection = databaseConnection(databaseUrl);
  const settings: Options = {
    driver: BindingDriver,
    entities,
    clientUrl: connection.connectionString, // MikroORM reads only host, user and database name from it.
    extensions: [Migrator],
    migrations: { migrationsList: migrations, snapshot: false, tableName: 'migrations' },
    pool: { min: 0, max: options.poolSize ?? 10 },
    // In milliseconds. An unavailable database causes an error instead of an endless request.
    driverOptions: {
      ...connection,
      connectionTimeoutMillis: options.connectTimeoutMs ?? 3000,
      // Without a statement timeout, TCP keepalive detects a lost server.
      ...(queryTimeoutMs === null
        ? keptAlive
        : { query_timeout: queryTimeoutMs, onConnect: limitSession(queryTimeoutMs) }),
      onPoolCreated: (pool: Pool) => {
        releaseBrokenConnections(pool);
        if (mayPrepare(databaseUrl)) {
          prepareStatements(pool);
        }
      },
    },
    ensureDatabase: false, // A missing database means a mistyped name.
    forceUtcTimezone: true,
    // Errors contain statements without values, so no post's text or sealed token reaches a log.
    logger: () => undefined,
  };
  return new MikroORM(settings);
}
