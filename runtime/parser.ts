import { Ajv, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import { AppError } from '../domain/errors.ts';
import type { Value } from '../domain/json-schema.ts';
import { describeFault, listFaults } from './schema-faults.ts';

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
  const fits: ValidateFunction<Value<S>> = untilFirst.compile<Value<S>>(schema);
  let all: ValidateFunction<Value<S>> | undefined;
  return (value) => {
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
