import { isRaw, Utils, type Platform } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';

/** A statement as Kysely sends it: its text, and its values apart from it. */
export type BoundStatement = Parameters<ReturnType<EntityManager['getKysely']>['executeQuery']>[0];

/** @param text With `$1`, `$2` and so on for the values. */
export const boundStatement = (text: string, values: readonly unknown[]): BoundStatement => ({
  sql: text,
  parameters: values,
  query: { kind: 'RawNode', sqlFragments: [text], parameters: [] },
  queryId: { queryId: '' },
});

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
export function bindValues(
  sql: string,
  given: readonly unknown[],
  platform: Platform,
): BoundStatement {
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

  return boundStatement(text, values);
}
