import { AppError, type ErrorDetail } from '../../domain/errors.ts';
import { fields } from '../../domain/json-schema.ts';
import { isText } from '../../domain/texts.ts';
import { parser } from '../../runtime/parser.ts';
import type { QuerySpec } from './route.ts';

type Specs = Readonly<Record<string, QuerySpec>>;

/**
 * Builds a reader for a query, as strict as for a body. Numeric parameters become numbers.
 *
 * The reader throws AppError `invalid_request` that names every unknown, repeated or invalid parameter.
 */
export function queryReader(
  specs: Specs = {},
): (query: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>> {
  const properties = Object.fromEntries(
    Object.entries(specs).map(([name, { schema }]) => [name, schema]),
  );
  const parse = parser(fields(properties));
  return (query) => {
    const details: ErrorDetail[] = [];
    const values: [string, unknown][] = [];
    for (const [name, value] of Object.entries(query)) {
      const spec = Object.hasOwn(specs, name) ? specs[name] : undefined;
      const message = spec ? unreadable(value) : 'is not a known query parameter';
      if (message === null) {
        values.push([name, read(String(value), spec)]);
      } else {
        details.push({ path: `?${name}`, message });
      }
    }

    try {
      const parsed = parse(Object.fromEntries(values));
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

function unreadable(value: unknown): string | null {
  if (typeof value !== 'string') {
    return 'must be given once';
  }

  return isText(value) ? null : 'must be text: no NUL, no half of a surrogate pair';
}

const plainNumber = /^-?(?:0|[1-9]\d{0,15})(?:\.\d{1,15})?$/v;

/** Parses a number where the schema expects one. Any other value stays text, and the schema reports the fault. */
function read(value: string, spec: QuerySpec | undefined): unknown {
  const { schema = {} } = spec ?? {};
  const mayBeNumber = 'type' in schema && (schema.type === 'number' || schema.type === 'integer');
  return mayBeNumber && plainNumber.test(value) ? Number(value) : value;
}

const atParameter = ({ path, message }: ErrorDetail): ErrorDetail => ({
  path: `?${path.slice(1)}`,
  message,
});
