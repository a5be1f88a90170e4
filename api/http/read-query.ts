import { AppError, type ErrorDetail } from '../../domain/errors.ts';
import { fields } from '../../domain/json-schema.ts';
import { isText } from '../../domain/texts.ts';
import { parser } from '../../runtime/parser.ts';
import type { QuerySpec } from './route.ts';

type Specs = Readonly<Record<string, QuerySpec>>;

/**
 * Makes a reader of a call's query, as strict as that of a body. What the schema calls a number comes back as one.
 *
 * The reader throws AppError `invalid_request` that names every parameter which is unknown, given twice or wrong.
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

/** What is written as a number and may be one. Anything else stays text, and the schema says what is wrong with it. */
function read(value: string, spec: QuerySpec | undefined): unknown {
  const { schema = {} } = spec ?? {};
  const mayBeNumber = 'type' in schema && (schema.type === 'number' || schema.type === 'integer');
  return mayBeNumber && plainNumber.test(value) ? Number(value) : value;
}

const atParameter = ({ path, message }: ErrorDetail): ErrorDetail => ({
  path: `?${path.slice(1)}`,
  message,
});
