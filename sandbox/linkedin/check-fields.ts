import { Ajv, type ErrorObject, type SchemaObject } from 'ajv';
import { unprocessable } from './refusals.ts';

const ajv = new Ajv({ allErrors: true });

/**
 * Makes a function that accepts a body with a schema's fields and no others.
 *
 * @throws LinkedinRefusal 422 with a line for each fault, in LinkedIn's wording.
 */
export function bodyReader<T>(schema: SchemaObject): (body: unknown) => T {
  const isValid = ajv.compile<T>(schema);
  return (body) => {
    if (!isValid(body)) {
      throw unprocessable(...(isValid.errors ?? []).map(sentenceOf));
    }
    return body;
  };
}

function sentenceOf({ keyword, instancePath, params, message }: ErrorObject): string {
  if (keyword === 'additionalProperties') {
    const field = `${instancePath}/${params['additionalProperty']}`;
    return `${field} :: unrecognized field found but not allowed`;
  }
  if (keyword === 'required') {
    const field = `${instancePath}/${params['missingProperty']}`;
    return `${field} :: field is required but not found and has no default value`;
  }
  return `${instancePath} :: ${message}`;
}

/** An object with exactly these fields. @param optional Fields that may be absent. */
export const objectOf = (
  properties: Readonly<Record<string, object>>,
  optional: readonly string[] = [],
): SchemaObject => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
});

/** @throws LinkedinRefusal 422 for a query parameter that the call does not have. */
export function assertQuery(query: URLSearchParams, ...known: readonly string[]): void {
  const unknown = [...query.keys()].filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw unprocessable(...unknown.map((name) => `Query parameter ${name} is not allowed`));
  }
}
