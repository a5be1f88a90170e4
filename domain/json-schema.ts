import type { Static, TSchema, TUnsafe } from 'typebox';

// JSON Schemas are plain objects, as Ajv and the OpenAPI document take them. TypeBox derives the types of their values.
// Only its types are imported: its builders order keys differently, write `anyOf` for a nullable value, and load slowly.

/** A JSON value as the database returns it: prepared data must survive a round trip. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

/** The type of the values that fit a schema: `Value<typeof postSchema>`. */
export type Value<S extends TSchema> = Static<S>;

type Fields = Readonly<Record<string, TSchema>>;

/** A schema of values of type `V`. Its `type` is a single string, so that `nullable` can add `null`. */
type SchemaOf<V> = TUnsafe<V> & { readonly type: string };

/** The only place that attaches a type to a schema. */
const schemaOf = <V>(schema: object) => schema as SchemaOf<V>;

/** An id, in lower case as the API writes it; requests may have another case. The format `uuid` takes more spellings. */
export const knownId = {
  type: 'string',
  pattern: '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
} as const;
const idForm = new RegExp(knownId.pattern, 'v');

/** Whether a text has the form of an id. PostgreSQL refuses a query for anything else. */
export const isId = (value: string): boolean => idForm.test(value);

/** Fields of requests whose values are ids, but for the ids of callers. */
const holdsIds = /^(?:thumbnail|(?!external_)[a-z_]+_ids?)$/v;
/** Fields of requests whose keys are ids. */
const hasIdsAsKeys = /^(?:channel_(?:bodies|options|media)|alt_texts)$/v;

/** An id in lower case; any other text as it is. */
export const lowerId = (given: string): string =>
  isId(given.toLowerCase()) ? given.toLowerCase() : given;

/** A request with its ids in lower case, as the database has them. Swift, for one, writes UUIDs in upper case. */
export function withLowerIds(value: unknown, field = ''): unknown {
  if (typeof value === 'string') {
    return holdsIds.test(field) ? lowerId(value) : value;
  }

  if (typeof value !== 'object' || value === null || field === 'metadata') {
    return value;
  }

  return Array.isArray(value)
    ? value.map((item) => withLowerIds(item, field))
    : Object.fromEntries(
        Object.entries(value).map(([name, inside]) => [
          hasIdsAsKeys.test(field) ? lowerId(name) : name,
          withLowerIds(inside, name),
        ]),
      );
}

export const text = { type: 'string' } as const;
export const uuid = { type: 'string', format: 'uuid' } as const;
export const dateTime = { type: 'string', format: 'date-time' } as const;
export const flag = { type: 'boolean' } as const;
export const count = { type: 'integer', minimum: 0 } as const;

export const oneOf = <const T extends string>(values: readonly T[]) =>
  schemaOf<T>({ type: 'string', enum: [...values] });

export const listOf = <const S extends TSchema>(items: S, maxItems?: number) =>
  schemaOf<readonly Static<S>[]>({
    type: 'array',
    items,
    ...(maxItems !== undefined && { maxItems }),
  });

/** A text of up to so many UTF-16 units. */
export const textUpTo = (maxLength: number) => ({ type: 'string', maxLength }) as const;

/** Any value: the reader checks it. */
export const anything = schemaOf<unknown>({});

/** An object with these fields, perhaps `optional` ones, and others that do not matter. */
export const having = <const R extends Fields, const O extends Fields = Record<never, TSchema>>(
  required: R,
  optional?: O,
) =>
  schemaOf<
    { readonly [Name in keyof R]: Static<R[Name]> } & {
      readonly [Name in keyof O]?: Static<O[Name]>;
    }
  >({ type: 'object', required: Object.keys(required), properties: { ...required, ...optional } });

export const mayHave = <const O extends Fields>(optional: O) =>
  having<Record<never, TSchema>, O>({}, optional);

/** An object with arbitrary keys. */
export const mapOf = <const S extends TSchema>(additionalProperties: S) =>
  schemaOf<Readonly<Record<string, Static<S>>>>({ type: 'object', additionalProperties });

/** An object whose fields another schema describes. */
export const anyFields = schemaOf<{ readonly [name: string]: Json }>({ type: 'object' });

/** An object with exactly these fields, all of them required. */
export const record = <const F extends Fields>(properties: F) =>
  Object.assign(
    schemaOf<{ readonly [Name in keyof F]: Static<F[Name]> }>({
      type: 'object',
      additionalProperties: false,
      required: Object.keys(properties),
    }),
    { properties },
  );

/** An object with only these fields, of which `required` must be present. */
export const fields = <const F extends Fields, const R extends keyof F & string = never>(
  properties: F,
  required: readonly R[] = [],
) =>
  schemaOf<
    { readonly [Name in R]: Static<F[Name]> } & {
      readonly [Name in Exclude<keyof F, R>]?: Static<F[Name]>;
    }
  >({
    type: 'object',
    additionalProperties: false,
    ...(required.length > 0 ? { required: [...required] } : {}),
    properties,
  });

export const textOrFields = <const F extends Fields>(
  textSchema: { readonly maxLength: number },
  properties: F,
) =>
  schemaOf<
    string | ({ readonly text?: string } & { readonly [Name in keyof F]?: Static<F[Name]> })
  >({
    type: ['string', 'object'],
    ...textSchema,
    additionalProperties: false,
    properties: {
      text: {
        ...text,
        ...textSchema,
        description: 'The text; may be empty or omitted beside files.',
      },
      ...properties,
    },
  });

/** The value or null, written as `type: ["string", "null"]`. */
export const nullable = <
  const S extends { readonly type: string; readonly enum?: readonly unknown[] },
>(
  schema: S,
): TUnsafe<Static<S> | null> =>
  schemaOf({
    ...schema,
    ...(schema.enum ? { enum: [...schema.enum, null] } : {}),
    type: [schema.type, 'null'],
  });

/** The value or null, as `anyOf`, for a schema that has no single `type`. */
export const orNull = <const S extends TSchema>(schema: S): TUnsafe<Static<S> | null> =>
  schemaOf({ anyOf: [schema, { type: 'null' }] });

/** Makes a function that keeps the fields of a value that a record's schema names, in the schema's order. */
export const onlyFields = <V extends object>({
  properties,
}: TUnsafe<V> & { properties: object }) => {
  const names = Object.keys(properties) as (keyof V)[];
  return (value: V): V => Object.fromEntries(names.map((name) => [name, value[name]])) as V;
};
