import type { ErrorCode } from '../../domain/errors.ts';
import type { Route } from '../http/route.ts';
import { errorSchema } from '../http/shared-schemas.ts';
import { statusOf } from '../http/statuses.ts';
import { refer } from './components.ts';
import { failures } from './failures.ts';
import { headersOfErrors } from './headers.ts';

/** Failures of this call by status: its own, and those that every call of its kind can have. */
export function failuresOf({ method, path, body, errors }: Route): Map<number, ErrorCode[]> {
  const codes = new Set<ErrorCode>([...errors, 'invalid_request', 'unauthorized', 'rate_limited']);
  if (path.includes('{')) {
    codes.add('not_found');
  }

  // A POST that takes no body looks at the one that comes all the same.
  if (body !== undefined || method === 'post') {
    codes.add('payload_too_large').add('unsupported_media_type');
  }

  codes.add('internal').add('unavailable');
  return Map.groupBy(codes, (code) => statusOf[code]);
}

/** A failure that is the only one of its status is described once, and every call refers to it. */
export const errorAnswer = (codes: readonly ErrorCode[]): object => {
  const [code] = codes;
  return codes.length === 1 ? { $ref: `#/components/responses/${code}` } : describe(codes);
};

/** The answers that calls refer to, and the one for a method that a path does not take. */
export function errorComponents(routes: readonly Route[]): object {
  const single = routes
    .flatMap((route) => [...failuresOf(route).values()])
    .flatMap(([code, ...others]) => (code === undefined || others.length > 0 ? [] : [code]));
  const codes = new Set<ErrorCode>([...single, 'method_not_allowed']);
  return Object.fromEntries([...codes].toSorted().map((code) => [code, describe([code])]));
}

function describe(codes: readonly ErrorCode[]): object {
  const [first] = codes;
  return {
    description:
      codes.length === 1 && first !== undefined
        ? failures[first].when
        : codes.map((code) => `- \`${code}\`: ${failures[code].when}`).join('\n'),
    headers: headersOfErrors(codes),
    content: {
      'application/json': {
        schema: {
          allOf: [refer(errorSchema), { type: 'object', properties: { code: { enum: codes } } }],
        },
        examples: Object.fromEntries(codes.map((code) => [code, exampleOf(code)])),
      },
    },
  };
}

const exampleOf = (code: ErrorCode): object => {
  const { error, ...details } = failures[code].example;
  return { value: { error, code, ...details } };
};
