import { isRaw, raw } from '@mikro-orm/core';
import { TypeOverrides } from 'pg';
import { PostgreSqlConnection, PostgreSqlDriver } from '@mikro-orm/postgresql';
import { bindValues } from './bound-statement.ts';

type Execute = PostgreSqlConnection['execute'];

/**
 * MikroORM's connection, but it sends values apart from the text of a statement. MikroORM writes them into the text,
 * so that PostgreSQL has a post's words or a token in its log at every error, and in `pg_stat_activity` at any time.
 */
class BindingConnection extends PostgreSqlConnection {
  override execute: Execute = async (query, params = [], method = 'all', ctx, _loggerContext) => {
    await this.ensureConnection();
    const given = inWords(query, params);
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

/** PostgreSQL's number of the type. MikroORM leaves moments as texts, for its entities to parse. */
const timestamptz = 1184;

/** As MikroORM takes it: a text with a list of values or with values by name, a fragment, or a builder. */
function inWords(...[query, params = []]: Parameters<Execute>) {
  if (typeof query !== 'string') {
    return isRaw(query) ? query : query.toRaw();
  }

  return Array.isArray(params) ? { sql: query, params } : raw(query, { ...params });
}

export class BindingDriver extends PostgreSqlDriver {
  protected override readonly connection: BindingConnection;

  constructor(...[config]: ConstructorParameters<typeof PostgreSqlDriver>) {
    super(config);
    // Neither has connected yet.
    this.connection = new BindingConnection(this.config);
  }
}
