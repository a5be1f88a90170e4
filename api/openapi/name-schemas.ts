import type { Examples } from '../http/route.ts';
import { namedEnums, namedSchemas } from './components.ts';
import { channelOptions, fieldDescriptions, refineField } from './fields.ts';

/** A JSON Schema, as far as it is read here. */
type Schema = Readonly<Record<string, unknown>> & {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly enum?: readonly (string | null)[];
};

// Objects are recognised by their fields, and texts by their values: a schema that was copied to describe it, or to
// allow null, is still the same.
const objectNames = new Map<unknown, string>(
  Object.entries(namedSchemas).map(([name, [schema]]) => [(schema as Schema).properties, name]),
);
const enumNames = new Map(Object.entries(namedEnums).map(([name, [of]]) => [of.join(' '), name]));

const toReference = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

/** `post_id` → `PostId`. */
export const pascal = (name: string): string =>
  name.replaceAll(/(?:^|[^A-Za-z0-9])(?<first>[A-Za-z0-9])/gv, (part) =>
    part.slice(-1).toUpperCase(),
  );

/** `PostChannels` → `PostChannel`. */
const singular = (name: string): string =>
  /[^s]s$/v.test(name) ? name.replace(/ies$/v, 'y').replace(/s$/v, '') : `${name}Item`;

/** Collects the schemas. Every object and fixed set of texts gets a name, so that generators make up none. */
export class SchemaNames {
  readonly #made = new Map<string, { readonly of: unknown; readonly schema: Schema }>();

  components(): Readonly<Record<string, Schema>> {
    return Object.fromEntries([...this.#made].map(([name, { schema }]) => [name, schema]));
  }

  /** A JSON body as a Content map. @param name For a schema without one. */
  jsonContent(schema: unknown, name: string, examples: Examples): object {
    return { 'application/json': { schema: this.refer(schema, name), examples } };
  }

  /** Replaces each object and enum by a reference to its component. @param name For a schema without one. */
  refer(given: unknown, name: string): Schema {
    const schema = given as Schema;
    if (given === channelOptions) {
      const named = 'ChannelOptions';
      const text = 'Options of a channel: those of its network. `GET /networks` has them too.';
      this.#define(named, given, () => ({ ...this.#inside(schema, named), description: text }));
      return toReference(named);
    }

    if (schema.properties !== undefined) {
      return this.#object(schema, objectNames.get(schema.properties) ?? name);
    }

    return schema.enum === undefined ? this.#inside(schema, name) : this.#enum(schema, name);
  }

  /** The schema of a field or a parameter, with the format or values that its name implies. */
  named(key: string, schema: unknown, place: string): Schema {
    return this.refer(refineField(key, schema as Schema, place), place + pascal(key));
  }

  #field(key: string, schema: unknown, place: string): Schema {
    const made = this.named(key, schema, place);
    const description = made.description ?? fieldDescriptions[key];
    return description === undefined ? made : { ...made, description };
  }

  #object({ type, description, ...schema }: Schema, name: string): Schema {
    const { required, properties = {}, additionalProperties, ...rest } = schema;
    this.#define(name, properties, () => ({
      type: 'object',
      ...about(name, description),
      ...(Array.isArray(type) ? {} : rest),
      ...(additionalProperties === undefined ? {} : { additionalProperties }),
      ...(required === undefined ? {} : { required }),
      properties: Object.fromEntries(
        Object.entries(properties).map(([key, field]) => [key, this.#field(key, field, name)]),
      ),
    }));
    return either(type, description, (one) =>
      one === 'object' ? toReference(name) : { type: one, ...rest },
    );
  }

  #enum({ type, description, enum: values = [], ...rest }: Schema, place: string): Schema {
    const texts = values.filter((value) => value !== null);
    // Not the name of the field's place, which generators give to the alternatives of an open enum.
    const name = enumNames.get(texts.join(' ')) ?? `${place}Value`;
    this.#define(name, texts.join(' '), () => ({
      type: 'string',
      ...about(name, description),
      enum: texts,
    }));
    return { ...either(type, description, () => toReference(name)), ...rest };
  }

  #inside(schema: Schema, name: string): Schema {
    const parts = Object.entries(schema).map(([key, part]) => {
      if (key === 'items') {
        return [key, this.refer(part, singular(name))];
      }

      if (key === 'additionalProperties' && typeof part === 'object') {
        return [key, this.refer(part, `${name}Value`)];
      }

      return [key, key === 'anyOf' ? (part as Schema[]).map((one) => this.refer(one, name)) : part];
    });
    return Object.fromEntries(parts) as Schema;
  }

  /** @throws Error when two places would give different schemas the same name. */
  #define(name: string, of: unknown, make: () => Schema): void {
    const known = this.#made.get(name);
    if (known?.of === of) {
      return;
    }

    const schema = make();
    if (known && JSON.stringify(known.schema) !== JSON.stringify(schema)) {
      throw new Error(`Two schemas are called ${name}. Name one in api/openapi/components.ts.`);
    }

    this.#made.set(name, { of, schema });
  }
}

const about = (name: string, description?: string): { readonly description?: string } => {
  const text = (namedSchemas[name] ?? namedEnums[name])?.[1] ?? description;
  return text === undefined ? {} : { description: text };
};

/** The schema of a value of these types. */
function either(
  type: Schema['type'],
  description: string | undefined,
  schemaOf: (type: string) => Schema,
): Schema {
  const [only, ...others] = [type ?? 'object']
    .flat()
    .map((one) => (one === 'null' ? { type: one } : schemaOf(one)));
  return {
    ...(others.length === 0 ? only : { anyOf: [only, ...others] }),
    ...(description === undefined ? {} : { description }),
  };
}
