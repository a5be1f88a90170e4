import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import { AppError, type ErrorDetail } from '../domain/errors.ts';
import { knownId, type Value } from '../domain/json-schema.ts';

/** Strict: an unknown field, keyword or format is an error. */
function checker(allErrors: boolean): Ajv {
  const ajv = new Ajv({
    strict: true,
    allErrors,
    allowUnionTypes: true,
    ownProperties: true,
    verbose: true,
  });
  formats.default(ajv, ['uuid', 'date', 'date-time', 'uri']);
  return ajv;
}

/** Stops at the first fault, and checks a list's length before its items. */
const untilFirst = checker(false);

/** Finds all faults, so that the caller can fix them at once. */
const untilLast = checker(true);

/** For a larger value, only the first fault is reported: each of its values may have one. */
const fewValues = 1000;

/**
 * Makes a function that validates a value against a JSON Schema and returns it typed.
 *
 * The function throws AppError `invalid_request` with the path of every fault.
 *
 * @param how.what Name of the value in the message: `The request body`.
 */
export function parser<const S extends object>(
  schema: S,
  { what = 'The request body' }: { what?: string } = {},
): (value: unknown) => Value<S> {
  // Compiled when first used, because a process uses few of its schemas soon after its start.
  let fits: ValidateFunction<Value<S>> | undefined;
  let all: ValidateFunction<Value<S>> | undefined;
  return (value) => {
    fits ??= untilFirst.compile<Value<S>>(schema);
    if (fits(value)) {
      return value;
    }

    let validate = fits;
    if (holdsFew(value)) {
      all ??= untilLast.compile<Value<S>>(schema);
      validate = all;
      validate(value);
    }

    const details = (validate.errors ?? []).map(describeFault);
    const message = `${what} does not fit: ${listFaults(details)}.`;
    throw new AppError('invalid_request', message, { details });
  };
}

function holdsFew(value: unknown): boolean {
  const left: unknown[] = [value];
  for (let seen = 1; left.length > 0; seen += 1) {
    const one = left.pop();
    const inside = typeof one === 'object' && one !== null ? Object.values(one) : [];
    if (seen + left.length + inside.length > fewValues) {
      return false;
    }

    left.push(...inside);
  }

  return true;
}

/** Ajv sets `data` with its option `verbose`. */
type Fault = Pick<ErrorObject, 'keyword' | 'params' | 'data'>;

/**
 * Messages by keyword of JSON Schema. Each continues a sentence that starts with the value's path. Ajv's own messages
 * never reach a caller.
 */
export const faultSentences: Readonly<Record<string, (fault: Fault) => string>> = {
  type: ({ params, data }) => `must be ${typesIn(params['type'])}, not ${typeOf(data)}`,
  enum: ({ params }) => `must be one of ${params['allowedValues'].join(', ')}`,
  const: ({ params }) => `must be ${JSON.stringify(params['allowedValue'])}`,
  required: () => 'is missing',
  additionalProperties: () => 'is not a known field',
  minLength: ({ params }) => atLeast(params, 'character'),
  maxLength: ({ params }) => atMost(params, 'character'),
  minItems: ({ params }) => atLeast(params, 'item'),
  maxItems: ({ params }) => atMost(params, 'item'),
  maxProperties: ({ params }) => atMost(params, 'field'),
  uniqueItems: ({ params }) =>
    `must not have an item twice: items ${params['j'] + 1} and ${params['i'] + 1} are equal`,
  minimum: ({ params }) => `must be at least ${params['limit']}`,
  maximum: ({ params }) => `must be at most ${params['limit']}`,
  pattern: ({ params: { pattern } }) =>
    pattern === knownId.pattern ? 'must be an id, in lower case' : `must have the form ${pattern}`,
  format: ({ params }) => `must be ${formatWords[params['format']] ?? `a ${params['format']}`}`,
};

const formatWords: Readonly<Record<string, string>> = {
  uuid: 'an id (a UUID)',
  date: 'a day such as 2026-05-01',
  'date-time': 'a time such as 2026-05-01T09:30:00Z',
  uri: 'an address such as https://example.com/',
};

const types: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
  null: 'null',
};

const typesIn = (named: string | readonly string[]): string =>
  [named]
    .flat()
    .map((type) => types[type] ?? type)
    .join(' or ');

function typeOf(value: unknown): string {
  if (value === null || Array.isArray(value)) {
    return value === null ? 'null' : 'an array';
  }

  if (typeof value === 'number') {
    return Number.isFinite(value) ? String(value) : 'a number that is too large';
  }

  return typeof value === 'boolean' ? String(value) : (types[typeof value] ?? typeof value);
}

type Params = ErrorObject['params'];

const atLeast = ({ limit }: Params, unit: string): string =>
  limit === 1 ? 'must not be empty' : `must have at least ${limit} ${unit}s`;

const atMost = ({ limit }: Params, unit: string): string =>
  `must have at most ${limit} ${unit}${limit === 1 ? '' : 's'}`;

/** Joins faults into one sentence without its end: `/count must be at least 0; /name is missing`. */
export const listFaults = (faults: readonly ErrorDetail[]): string =>
  faults.map(({ path, message }) => `${path || 'it'} ${message}`).join('; ');

/** Describes a fault of Ajv for the caller. */
export function describeFault(error: ErrorObject): ErrorDetail {
  const { instancePath, keyword, params } = error;
  const field: unknown = params['additionalProperty'] ?? params['missingProperty'];
  const path = field === undefined ? '' : `/${pointerToken(String(field))}`;
  const message = faultSentences[keyword]?.(error) ?? 'does not fit';
  return { path: instancePath + path, message };
}

/** RFC 6901. */
export const pointerToken = (field: string): string =>
  field.replaceAll('~', '~0').replaceAll('/', '~1');
