import { Ajv, type SchemaObject } from 'ajv';
import type { EgressResponse } from '../runtime/egress/egress.ts';

/** Stops at the first thing that is wrong: a list of all would let a hostile server fill the memory. */
const ajv = new Ajv({ strict: true, allowUnionTypes: true, ownProperties: true });

/** The answer's body as JSON; undefined when it is cut short or no JSON. */
export function jsonOf(response: EgressResponse): unknown {
  if (response.truncated) {
    return undefined;
  }

  try {
    return JSON.parse(response.body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Makes a reader of a network's answers: the checked value, or null when the value has another shape.
 *
 * Schemas name the members that we use and let others pass: networks add members at any time.
 */
export function answerReader<T>(schema: SchemaObject): (value: unknown) => T | null {
  const isValid = ajv.compile<T>(schema);
  return (value) => (isValid(value) ? value : null);
}
