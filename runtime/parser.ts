import { Ajv, type AnySchema, type ErrorObject, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import { AppError, type ErrorDetail } from '../domain/errors.ts';

/** Strict: an unknown field, keyword or format is an error, and all errors are found, not only the first. */
const ajv = new Ajv({ strict: true, allErrors: true, allowUnionTypes: true, ownProperties: true });
formats.default(ajv, ['uuid', 'date', 'date-time', 'uri']);

/**
 * Makes a function that checks a value against a JSON Schema and hands it back typed.
 *
 * The function throws AppError `invalid_request` that names every wrong place.
 *
 * @param how.what How the value is called in the message: `The request body`.
 */
export function parser<T>(
  schema: AnySchema,
  { what = 'The request body' }: { what?: string } = {},
): (value: unknown) => T {
  const validate: ValidateFunction<T> = ajv.compile<T>(schema);
  return (value) => {
    if (validate(value)) {
      return value;
    }

    const details = (validate.errors ?? []).map(toDetail);
    const list = details.map(({ path, message }) => `${path || 'it'} ${message}`);
    throw new AppError('invalid_request', `${what} does not fit: ${list.join('; ')}.`, { details });
  };
}

function toDetail(error: ErrorObject): ErrorDetail {
  const { instancePath, keyword, params, message } = error;
  if (keyword === 'additionalProperties') {
    const field = String(params['additionalProperty']);
    return { path: `${instancePath}/${pointerToken(field)}`, message: 'is not a known field' };
  }

  if (keyword === 'required') {
    const field = String(params['missingProperty']);
    return { path: `${instancePath}/${pointerToken(field)}`, message: 'is missing' };
  }

  if (keyword === 'enum') {
    return { path: instancePath, message: `must be one of ${params['allowedValues'].join(', ')}` };
  }

  return { path: instancePath, message: message ?? 'does not fit' };
}

/** RFC 6901. */
const pointerToken = (field: string): string => field.replaceAll('~', '~0').replaceAll('/', '~1');
