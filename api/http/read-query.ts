import { AppError, type ErrorDetail } from '../../domain/errors.ts';
import { parser } from '../../runtime/parser.ts';
import type { QuerySpec } from './route.ts';

/**
 * Makes a reader of a call's query, as strict as that of a body. What the schema calls a number comes back as one.
 *
 * The reader throws AppError `invalid_request` that names every parameter which is unknown, given twice or wrong.
 */
export function queryReader(
  specs: Readonly<Record<string, QuerySpec>> = {},
): (query: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>> {
  const properties = Object.fromEntries(
    Object.entries(specs).map(([name, { schema }]) => [name, schema]),
  );
  const parse = parser<Record<string, unknown>>(
    { type: 'object', additionalProperties: false, properties },
    { coerce: true },
  );
  return (query) => {
    const given = Object.entries(query);
    const details: ErrorDetail[] = given
      .filter(([name]) => !Object.hasOwn(specs, name))
      .map(([name]) => ({ path: `?${name}`, message: 'is not a known query parameter' }));
    const known = given.filter(([name]) => Object.hasOwn(specs, name));
    for (const [name] of known.filter(([, value]) => Array.isArray(value))) {
      details.push({ path: `?${name}`, message: 'must be given once' });
    }

    const single = known.filter(([, value]) => !Array.isArray(value));
    try {
      const parsed = parse(Object.fromEntries(single));
      if (details.length === 0) {
        return parsed;
      }
    } catch (error) {
      if (!(error instanceof AppError)) {
        throw error;
      }

      details.push(...(error.details ?? []).map(atParameter));
    }

    const list = details.map(({ path, message }) => `${path} ${message}`).join('; ');
    throw new AppError('invalid_request', `The query does not fit: ${list}.`, { details });
  };
}

const atParameter = ({ path, message }: ErrorDetail): ErrorDetail => ({
  path: `?${path.slice(1)}`,
  message,
});
