import { isUtf8 } from 'node:buffer';
import { AppError, type ErrorDetail } from '../../domain/errors.ts';
import { fields, withLowerIds } from '../../domain/json-schema.ts';
import { isText, notText } from '../../domain/texts.ts';
import { unknownName } from '../../runtime/nearest-name.ts';
import { listFaults, parser } from '../../runtime/parser.ts';
import type { QuerySpec } from './route.ts';

type Specs = Readonly<Record<string, QuerySpec>>;

/** Builds a reader for a query. Its refusal names every unknown, repeated or invalid parameter. */
export function queryReader(
  specs: Specs = {},
  body: object = {},
): (query: Readonly<Record<string, unknown>>, raw: string) => Readonly<Record<string, unknown>> {
  const properties = Object.fromEntries(
    Object.entries(specs).map(([name, { schema }]) => [name, schema]),
  );
  const parse = parser(fields(properties));
  const ofBody = 'properties' in body ? Object(body.properties) : {};
  return (query, raw) => {
    const details: ErrorDetail[] = notUtf8(raw);
    const values: [string, unknown][] = [];
    for (const [name, value] of Object.entries(query)) {
      const spec = Object.hasOwn(specs, name) ? specs[name] : undefined;
      const given = spec && 'items' in spec.schema ? listed(value, spec) : value;
      const message = spec
        ? unreadable(given, spec)
        : Object.hasOwn(ofBody, name)
          ? 'belongs in the body'
          : unknownName('query parameter', name, Object.keys(specs));
      if (message === null) {
        values.push([name, Array.isArray(given) ? given : read(String(given), spec)]);
      } else {
        details.push({ path: `?${name}`, message });
      }
    }

    try {
      const parsed = parse(withLowerIds(Object.fromEntries(values)));
      if (details.length === 0) {
        return parsed;
      }
    } catch (error) {
      if (!(error instanceof AppError)) {
        throw error;
      }

      details.push(...(error.details ?? []).map(atParameter));
    }

    const message = `The query does not fit: ${listFaults(details)}`;
    throw new AppError('invalid_request', message, { details });
  };
}

/** A repeated parameter as a list. Values from a fixed set may also be separated by commas. */
const listed = (value: unknown, { schema }: QuerySpec): unknown[] => {
  const values = [value].flat();
  const hasFixedValues = 'items' in schema && 'enum' in (schema.items as object);
  return hasFixedValues ? values.flatMap((one) => String(one).split(',')) : values;
};

function unreadable(value: unknown, { schema }: QuerySpec): string | null {
  const values = [value].flat().map(String);
  if (Array.isArray(value) && !('items' in schema)) {
    const [example] = 'examples' in schema ? Object(schema.examples) : [];
    return `must be given once${example ? `, with a value such as ${example}` : ''}`;
  }

  if (isNumeric(schema) && !values.every((one) => plainNumber.test(one))) {
    return 'must be a number in digits, such as 20';
  }

  return values.every((one) => isText(one)) ? null : notText;
}

const plainNumber = /^-?(?:0|[1-9]\d{0,15})(?:\.\d{1,15})?$/v;

const read = (value: string, spec: QuerySpec | undefined): unknown =>
  isNumeric(spec?.schema ?? {}) ? Number(value) : value;

const isNumeric = (schema: object): boolean =>
  'type' in schema && (schema.type === 'number' || schema.type === 'integer');

/** Names the parameter, also for one of its repetitions. */
const atParameter = ({ path, ...detail }: ErrorDetail): ErrorDetail => ({
  ...detail,
  path: `?${path.split('/')[1]}`,
});

/** Faults of parameters whose bytes are not UTF-8, which Koa reads as other characters. */
const notUtf8 = (raw: string): ErrorDetail[] =>
  raw
    .split('&')
    .filter((pair) =>
      (pair.match(/(?:%[0-9a-f]{2})+/giv) ?? []).some(
        (bytes) => !isUtf8(Buffer.from(bytes.replaceAll('%', ''), 'hex')),
      ),
    )
    .map((pair) => ({
      path: `?${pair.replace(/=.*/v, '')}`,
      message: 'is not UTF-8: write ü as %C3%BC',
    }));
