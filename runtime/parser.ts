import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import { parseInstant, timeForm } from '../domain/due-time.ts';
import { AppError, mostDetails, pointerToken, type ErrorDetail } from '../domain/errors.ts';
import { knownId, type Value } from '../domain/json-schema.ts';
import { characterCount } from '../domain/texts.ts';
import { unknownName } from './nearest-name.ts';

/** Strict: an unknown field, keyword or format is an error. */
function checker(allErrors: boolean): Ajv {
  const ajv = new Ajv({
    strict: true,
    allErrors,
    allowUnionTypes: true,
    ownProperties: true,
    verbose: true,
  });
  formats.default(ajv, ['uuid', 'date', 'uri']);
  ajv.addFormat('date-time', (value: string) => parseInstant(value) !== null);
  return ajv;
}

/** Stops at the first fault, and checks a list's length before its items. */
const untilFirst = checker(false);

/** Finds all faults, so that the caller can fix them at once. */
const untilLast = checker(true);

/** For a larger value, only the first fault is reported: each of its values may have one. */
const fewValues = 1000;

/**
 * Makes a function that validates a value against a JSON Schema and returns it typed. It throws AppError
 * `invalid_request` with the path of every fault; `what` names the value in the message.
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

    const details = (validate.errors ?? []).slice(0, mostDetails + 1).map(describeFault);
    const message = `${what} does not fit: ${listFaults(details)}`;
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

/** An item of `media` for a bare id. */
const asFile = (data: unknown, schema: Fault['parentSchema']): string =>
  typeof data === 'string' && schema?.['properties']?.['media_id']
    ? ' such as {"media_id": "<id>"}'
    : '';

/** Ajv sets `data` and `parentSchema` with its option `verbose`. */
type Fault = Pick<ErrorObject, 'keyword' | 'params' | 'data' | 'parentSchema'>;

/**
 * Messages by keyword of JSON Schema. Each continues a sentence that starts with the value's path, or is a sentence.
 * Ajv's own messages never reach a caller.
 */
export const faultSentences: Readonly<Record<string, (fault: Fault) => string>> = {
  type: ({ params, data, parentSchema }) =>
    `must be ${typesIn(params['type'])}${asTime(data, parentSchema)}${asFile(data, parentSchema)}, not ${typeOf(data)}`,
  enum: ({ params: { allowedValues: values } }) =>
    `must be ${values.length > 1 ? 'one of ' : ''}${values.map(String).join(', ')}`,
  const: ({ params }) => `must be ${JSON.stringify(params['allowedValue'])}`,
  required: ({ params, parentSchema }) => {
    const missing = parentSchema?.['properties']?.[params['missingProperty']] ?? {};
    const values = allowedIn(missing);
    const [whenNull] = /null only if [^.]+/v.exec(missing.description ?? '') ?? [];
    const next = whenNull ? `; send ${whenNull}` : '';
    return `is missing${values ? `; it takes ${values.join(', ')}` : next}`;
  },
  additionalProperties: ({ params, parentSchema, data }) =>
    unknownName(
      'field',
      params['additionalProperty'],
      Object.keys(parentSchema?.['properties'] ?? {}),
      Object(data),
    ),
  minLength: (fault) => atLeast(fault, 'character'),
  maxLength: (fault) => atMost(fault, 'character'),
  minItems: (fault) => atLeast(fault, 'item'),
  maxItems: (fault) => atMost(fault, 'item'),
  maxProperties: (fault) => atMost(fault, 'field'),
  uniqueItems: ({ params }) =>
    `must not have an item twice: items ${params['j'] + 1} and ${params['i'] + 1} are equal`,
  minimum: ({ params, data }) => `must be at least ${params['limit']}, not ${typeOf(data)}`,
  maximum: ({ params, data }) => `must be at most ${params['limit']}, not ${typeOf(data)}`,
  pattern: ({ params: { pattern }, parentSchema }) => {
    const examples = parentSchema?.['examples']?.join(' or ');
    const form = examples ? `have a form such as ${examples}` : `have the form ${pattern}`;
    return pattern === knownId.pattern ? 'must be an id' : `must ${form}`;
  },
  format: ({ params, data }) =>
    `must be ${params['format'] === 'date-time' ? timeForm(data) : (formatWords[params['format']] ?? `a ${params['format']}`)}`,
};

/** The values that a property, or an item of it, may have; all of them are its `examples` if a setting decides. */
type Values = { readonly enum?: readonly string[]; readonly examples?: readonly string[] };
const allowedIn = ({ items = {}, ...own }: Values & { readonly items?: Values }) =>
  own.enum ?? own.examples ?? items.enum ?? items.examples;

/** A Unix time where a text is needed, as that text. */
function asTime(data: unknown, schema: Fault['parentSchema']): string {
  const isTime = String(schema?.['description']).startsWith('RFC 3339');
  if (!isTime || typeof data !== 'number' || data < 1e9 || data > 1e14) {
    return '';
  }

  const ms = data < 1e11 ? data * 1000 : data;
  return `, such as ${new Date(ms).toISOString()}`;
}

const formatWords: Readonly<Record<string, string>> = {
  uuid: 'an id (a UUID)',
  date: 'a day such as 2026-05-01',
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

const atLeast = ({ params: { limit }, data }: Fault, unit: string): string =>
  limit === 1
    ? 'must not be empty'
    : `must have at least ${limit} ${unit}s, and has ${sizeOf(data)}`;

const atMost = ({ params: { limit }, data }: Fault, unit: string): string =>
  `must have at most ${limit} ${unit}${limit === 1 ? '' : 's'}, and has ${sizeOf(data)}`;

/** As Ajv counts: characters, items or fields; a number is its own size. */
function sizeOf(value: unknown): number {
  if (typeof value === 'number') {
    return value;
  }

  return typeof value === 'string' ? characterCount(value) : Object.keys(value ?? {}).length;
}

/** Joins details to sentences. A message without a capital continues its path: `/count must be at least 0, not -1.` */
export const listFaults = (details: readonly ErrorDetail[]): string =>
  details
    .map(({ path, message }) =>
      /^\p{Lu}/v.test(message) ? message : `${path || 'it'} ${message}.`,
    )
    .join(' ');

/** Describes a fault of Ajv for the caller. */
export function describeFault(error: ErrorObject): ErrorDetail {
  const { instancePath, keyword, params, data } = error;
  const inside: unknown = params['additionalProperty'] ?? params['missingProperty'] ?? params['i'];
  const path = inside === undefined ? '' : `/${pointerToken(String(inside))}`;
  const allowed: readonly unknown[] | undefined = params['allowedValues'];
  const limit: unknown = params['limit'];
  return {
    path: instancePath + path,
    message: faultSentences[keyword]?.(error) ?? 'does not fit',
    ...(allowed ? { allowed: allowed.map(String) } : {}),
    ...(typeof limit === 'number' ? { limit, actual: sizeOf(data) } : {}),
  };
}
