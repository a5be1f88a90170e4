import type { ErrorCode } from '../../domain/errors.ts';
import { errorSchema, httpStatusOf } from '../http/errors.ts';
import type { Route } from '../http/route.ts';
import { headersOfErrors } from './components.ts';
import { errorDescriptions } from './error-descriptions.ts';
import type { SchemaNames } from './name-schemas.ts';

/** Error codes of a route by status: its own and the common ones. */
export function failuresOf({ method, path, body, errors, scope }: Route): Map<number, ErrorCode[]> {
  const codes = new Set<ErrorCode>([
    ...errors,
    'invalid_request',
    'unauthorized',
    'wrong_key_type',
    'rate_limited',
  ]);
  if (scope !== null) {
    codes.add('scope_missing');
  }

  if (path.startsWith('/posts/{id}') && method !== 'get') {
    codes.add('channel_not_allowed');
  }

  if (path.includes('{')) {
    codes.add('not_found');
  }

  // A POST without a body still reads the body that it gets.
  if (body !== undefined || method === 'post') {
    codes.add('payload_too_large').add('unsupported_media_type');
  }

  codes.add('internal').add('unavailable');
  return Map.groupBy(codes, (code) => httpStatusOf[code]);
}

/** An error code that is the only one of its status is described once and referenced by every route. */
export const errorAnswer = (schemas: SchemaNames, codes: readonly ErrorCode[]): object => {
  const [code] = codes;
  return codes.length === 1 ? { $ref: `#/components/responses/${code}` } : describe(schemas, codes);
};

/** The referenced responses, and the one for an unsupported method. */
export function errorComponents(
  schemas: SchemaNames,
  routes: readonly Route[],
): Readonly<Record<string, object>> {
  const single = routes
    .flatMap((route) => [...failuresOf(route).values()])
    .flatMap(([code, ...others]) => (code === undefined || others.length > 0 ? [] : [code]));
  const codes = new Set<ErrorCode>([...single, 'method_not_allowed']);
  return Object.fromEntries([...codes].toSorted().map((code) => [code, describe(schemas, [code])]));
}

function describe(schemas: SchemaNames, codes: readonly ErrorCode[]): object {
  const [first] = codes;
  return {
    description:
      codes.length === 1 && first !== undefined
        ? errorDescriptions[first].when
        : codes.map((code) => `- \`${code}\`: ${errorDescriptions[code].when}`).join('\n'),
    headers: headersOfErrors(codes),
    content: {
      'application/json': {
        schema: {
          // The published document leaves out the second part: generators would make a type for each answer.
          allOf: [
            schemas.refer(errorSchema, 'ApiError'),
            { type: 'object', properties: { code: { enum: codes } } },
          ],
        },
        examples: Object.fromEntries(codes.map((code) => [code, exampleOf(code)])),
      },
    },
  };
}

const exampleOf = (code: ErrorCode): object => {
  const { error, ...details } = errorDescriptions[code].example;
  return { value: { error, code, ...details } };
};
