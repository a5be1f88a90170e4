import type { Static, TSchema, TUnsafe } from 'typebox';

// JSON Schemas are plain objects, as Ajv and the OpenAPI document take them. TypeBox derives the TypeScript type of a
// value from its schema: it reads plain schemas of one value itself, and the functions below note the type of what
// they build. Only types of TypeBox are imported: its builders order keys otherwise, write `anyOf` for a nullable
// value, and take longer to load than a request takes.

/** The type of the values that fit a schema: `Value<typeof postSchema>`. */
export type Value<S extends TSchema> = Static<S>;

type Fields = Readonly<Record<string, TSchema>>;

/** A schema with a single `type`, which `nullable` makes two of. */
type Typed<T extends TSchema> = T & { readonly type: string };

/** Of an id that is asked for: in lower case, as every id goes out. The format `uuid` takes more spellings. */
export const knownId = {
  type: 'string',
  pattern: '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
} as const;
export const text = { type: 'string' } as const;
export const uuid = { type: 'string', format: 'uuid' } as const;
export const dateTime = { type: 'string', format: 'date-time' } as const;
export const flag = { type: 'boolean' } as const;
export const count = { type: 'integer', minimum: 0 } as const;

export const oneOf = <const T extends string>(values: readonly T[]) =>
  ({ type: 'string', enum: [...values] }) as unknown as Typed<TUnsafe<T>>;

export const listOf = <S extends TSchema>(items: S) =>
  ({ type: 'array', items }) as unknown as Typed<TUnsafe<readonly Static<S>[]>>;

/** An object with names of any kind. */
export const mapOf = <S extends TSchema>(additionalProperties: S) =>
  ({ type: 'object', additionalProperties }) as unknown as Typed<
    TUnsafe<Readonly<Record<string, Static<S>>>>
  >;

/** An object of which every field is always present, and no other. */
export const record = <const F extends Fields>(properties: F) =>
  ({
    type: 'object',
    additionalProperties: false,
    required: Object.keys(properties),
    properties,
  }) as unknown as Typed<TUnsafe<{ readonly [Name in keyof F]: Static<F[Name]> }>>;

/** An object that may have these fields and no other, and has those that are required. */
export const fields = <const F extends Fields, const R extends keyof F & string = never>(
  properties: F,
  required: readonly R[] = [],
) =>
  ({
    type: 'object',
    additionalProperties: false,
    ...(required.length > 0 ? { required: [...required] } : {}),
    properties,
  }) as unknown as Typed<
    TUnsafe<
      { readonly [Name in R]: Static<F[Name]> } & {
        readonly [Name in Exclude<keyof F, R>]?: Static<F[Name]>;
      }
    >
  >;

/** The value or null, said by the type: `["string", "null"]`. */
export const nullable = <S extends { readonly type: string; readonly enum?: readonly unknown[] }>(
  schema: S,
) =>
  ({
    ...schema,
    type: [schema.type, 'null'],
    ...(schema.enum ? { enum: [...schema.enum, null] } : {}),
  }) as unknown as TUnsafe<Static<S> | null>;

/** The value or null, for a schema that is more than a type. */
export const orNull = <S extends TSchema>(schema: S) =>
  ({ anyOf: [schema, { type: 'null' }] }) as unknown as TUnsafe<Static<S> | null>;
