import { Utils, isRaw, raw, type Platform } from '@mikro-orm/core';
import { Migrator } from '@mikro-orm/migrations';
import {
  MikroORM,
  PostgreSqlConnection,
  PostgreSqlDriver,
  type Options,
} from '@mikro-orm/postgresql';
import { CompiledQuery } from 'kysely';
import { TypeOverrides } from 'pg';
import { databaseConnection } from '../runtime/config/database-connection.ts';
import {
  ChannelGrantSchema,
  ChannelSchema,
  ConnectLinkSchema,
  OauthAppSchema,
} from './entities/channels.ts';
import { MediaFileSchema } from './entities/media.ts';
import { migrations } from './migrations/index.ts';
import {
  adaptStatements,
  limitSession,
  mayPrepare,
  releaseBrokenConnections,
  shareConnections,
  type Pool,
} from './pool.ts';
import { PostChannelSchema, PostPartSchema } from './entities/post-channels.ts';
import { PostMediaSchema, PostSchema } from './entities/posts.ts';
import { WebhookEndpointSchema } from './entities/webhooks.ts';
import { ApiKeySchema, AuditEntrySchema, WorkspaceSchema } from './entities/workspaces.ts';

/** Only statements use the other tables (`db/migrations/baseline.sql`). */
const entities = [
  WorkspaceSchema,
  ApiKeySchema,
  ChannelSchema,
  ChannelGrantSchema,
  ConnectLinkSchema,
  OauthAppSchema,
  PostSchema,
  PostChannelSchema,
  MediaFileSchema,
  PostMediaSchema,
  PostPartSchema,
  WebhookEndpointSchema,
  AuditEntrySchema,
];

export type Orm = MikroORM;
export type Em = Orm['em'];

type OrmOptions = {
  readonly poolSize?: number;
  readonly connectTimeoutMs?: number;
  /** Statement timeout; null for none. */
  readonly queryTimeoutMs?: number | null;
};

const keptAlive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };

/** Connects lazily, so a process starts and recovers without its database. */
export function createOrm(databaseUrl: string, options: OrmOptions = {}): Orm {
  const { queryTimeoutMs = 20_000, connectTimeoutMs = 3000 } = options;
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
      connectionTimeoutMillis: connectTimeoutMs,
      // Without a statement timeout, TCP keepalive detects a lost server.
      ...(queryTimeoutMs === null
        ? keptAlive
        : { query_timeout: queryTimeoutMs, onConnect: limitSession(queryTimeoutMs) }),
      onPoolCreated: (pool: Pool) => {
        shareConnections(pool, connectTimeoutMs);
        releaseBrokenConnections(pool);
        adaptStatements(pool, mayPrepare(databaseUrl));
      },
    },
    ensureDatabase: false, // A missing database means a mistyped name.
    forceUtcTimezone: true,
    // Errors contain statements without values, so no post's text or sealed token reaches a log.
    logger: () => undefined,
  };
  return new MikroORM(settings);
}

type Execute = PostgreSqlConnection['execute'];

/**
 * Sends values separately from the statement. MikroORM writes them into its text, so a post's text or a token would
 * appear in PostgreSQL's log at every error, and in `pg_stat_activity`.
 */
class BindingConnection extends PostgreSqlConnection {
  override execute: Execute = async (query, params = [], method = 'all', ctx, _loggerContext) => {
    await this.ensureConnection();
    const given = normalizeQuery(query, params);
    const statement = bindValues(given.sql, given.params, this.platform);
    return this.executeQuery(given.sql, async () => {
      const result = await (ctx ?? this.getClient()).executeQuery(statement);
      return this.transformRawResult(result, method);
    });
  };

  override mapOptions(overrides: object) {
    const types = new TypeOverrides();
    types.setTypeParser(timestamptz, (text) => new Date(text));
    return { ...super.mapOptions(overrides), types };
  }
}

/** OID of the type. MikroORM leaves times as strings, for its entities to parse. */
const timestamptz = 1184;

/** Normalizes MikroORM's inputs: a text with a list of values or named values, a fragment, or a builder. */
function normalizeQuery(...[query, params = []]: Parameters<Execute>) {
  if (typeof query !== 'string') {
    return isRaw(query) ? query : query.toRaw();
  }

  return Array.isArray(params) ? { sql: query, params } : raw(query, { ...params });
}

class BindingDriver extends PostgreSqlDriver {
  protected override readonly connection: BindingConnection;

  constructor(...[config]: ConstructorParameters<typeof PostgreSqlDriver>) {
    super(config);
    // Replaces the connection of `super`, which has not connected yet.
    this.connection = new BindingConnection(this.config);
  }
}

/** Limit of the protocol: the number of values has 16 bits. */
const mostValues = 65_535;

/**
 * Converts MikroORM's placeholders (`?` for a value or a list, `??` for a name, `\?` for a question mark) to
 * PostgreSQL's. Numbers, booleans and null stay in the text, where their type is known.
 */
function bindValues(sql: string, given: readonly unknown[], platform: Platform): CompiledQuery {
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const place = (value: unknown): string => {
    if (isRaw(value)) {
      return fill(value.sql, value.params);
    }

    if (Array.isArray(value)) {
      return value.map(place).join(', ');
    }

    if (value instanceof Date) {
      return bind(value.toISOString());
    }

    if (Utils.isPlainObject(value)) {
      return bind(JSON.stringify(value));
    }

    const isPlain = value === null || typeof value === 'number' || typeof value === 'boolean';
    return isPlain ? String(value) : bind(typeof value === 'bigint' ? String(value) : value);
  };
  const fill = (text: string, parameters: readonly unknown[]): string => {
    if (parameters.length === 0) {
      return text; // Without parameters, question marks are literal.
    }

    const rest = parameters.values();
    return text.replaceAll(/\\\?|\?\??/gv, (mark) => {
      if (mark === '\\?') {
        return '?';
      }

      const { value } = rest.next();
      return mark === '??' ? platform.quoteIdentifier(value as string) : place(value);
    });
  };

  const text = fill(sql, given);
  if (values.length > mostValues) {
    throw new RangeError(`A statement takes ${mostValues} values, not ${values.length}.`);
  }

  return CompiledQuery.raw(text, values);
}
