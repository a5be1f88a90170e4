import * as fc from 'fast-check';
import type { Egress, EgressResponse } from '../../runtime/egress/egress.ts';
import { near } from './property.ts';

const statuses = [200, 200, 200, 201, 202, 301, 308, 400, 401, 403, 404, 422, 429, 500, 502, 503];

const headerNames = [
  'retry-after',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-rate-limit-reset',
  'ratelimit-reset',
  'x-app-limit-24hour-reset',
  'x-restli-id',
  'location',
  'range',
  'dpop-nonce',
  'content-type',
  'date',
];

const headerValue = fc.oneof(
  fc.string(),
  fc.integer().map(String),
  fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
  fc.constantFrom('application/json', 'urn:li:share:1', 'bytes=0-99', 'http://127.0.0.1:9/next'),
);

/** Answers similar to a server's successful ones, and completely different ones. */
export const answersNear = (wellKnown: readonly unknown[]): fc.Arbitrary<EgressResponse[]> =>
  fc.array(
    fc.record({
      status: fc.constantFrom(...statuses),
      headers: fc.dictionary(fc.constantFrom(...headerNames), headerValue),
      body: fc.oneof(
        near(...wellKnown.map((value) => Buffer.from(JSON.stringify(value)))),
        fc.constantFrom(...wellKnown).chain(withOther),
        fc.json({ maxDepth: 3 }).map((text) => Buffer.from(text)),
        fc.uint8Array({ maxLength: 100 }).map((raw) => Buffer.from(raw)),
      ),
      truncated: fc.boolean(),
    }),
    { minLength: 1, maxLength: 12 },
  );

/** Valid JSON with one member, at any depth, replaced by another value, which schemas must catch. */
const withOther = (value: unknown): fc.Arbitrary<Buffer> => {
  const paths = pathsIn(value);
  return fc
    .record({ at: fc.nat({ max: paths.length - 1 }), put: fc.oneof(odd, fc.jsonValue()) })
    .map(({ at, put }) => Buffer.from(JSON.stringify(replaced(value, paths[at] ?? [], put))));
};

const odd = fc.constantFrom<unknown>(
  null,
  '',
  0,
  -1,
  1e308,
  '1e999',
  '\r\nx: y',
  '../..',
  'javascript:1',
  {},
  [],
);

type Path = readonly string[];

const pathsIn = (value: unknown, before: Path = []): Path[] =>
  typeof value === 'object' && value !== null
    ? [before, ...Object.entries(value).flatMap(([key, held]) => pathsIn(held, [...before, key]))]
    : [before];

function replaced(value: unknown, [key, ...rest]: Path, put: unknown): unknown {
  if (key === undefined || typeof value !== 'object' || value === null) {
    return put;
  }

  const copy = structuredClone(value) as Record<string, unknown>;
  copy[key] = replaced(copy[key], rest, put);
  return copy;
}

/** Gives one answer after the other, and repeats the last one. */
export function answering(answers: readonly EgressResponse[]): Egress {
  let asked = 0;
  return {
    request: async () => {
      asked += 1;
      if (asked > 2000) {
        throw new Error('The network gets an unlimited number of requests.');
      }

      return answers[Math.min(asked, answers.length) - 1] as EgressResponse;
    },
    close: async () => undefined,
  };
}
