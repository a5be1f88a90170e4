import { isRaw, raw, Utils, type Platform } from '@mikro-orm/core';
import { CompiledQuery } from 'kysely';
import { TypeOverrides } from 'pg';
import { PostgreSqlConnection, PostgreSqlDriver } from '@mikro-orm/postgresql';

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

/** PostgreSQL counts them in 16 bits. */
const mostValues = 65_535;

/**
 * Makes of a text with MikroORM's placeholders (`?` for a value or a list of them, `??` for a name, `\?` for a question
 * mark) one with PostgreSQL's, where MikroORM itself would write the values into the text.
 *
 * What says something about anybody goes apart: texts, moments, bytes and JSON. Numbers, yes, no and null stay in the
 * text, where their type is known.
 *
 * @throws RangeError where a list is too long to be bound.
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
      return text; // Its question marks are its own.
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
