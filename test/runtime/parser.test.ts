import test from 'ava';
import { AppError } from '../../domain/errors.ts';
import { parser } from '../../runtime/parser.ts';

const schema = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 5 },
    colour: { type: 'string', enum: ['red', 'blue'] },
    parts: { type: 'array', minItems: 1, items: { type: 'integer' } },
    by: { type: 'object', additionalProperties: { type: 'string' } },
    at: { type: 'string', format: 'date-time' },
  },
} as const;
const parse = parser(schema, { what: 'The letter' });

function refusal(value: unknown): AppError {
  try {
    parse(value);
  } catch (error) {
    if (error instanceof AppError) {
      return error;
    }
  }

  throw new Error('It was taken.');
}

test('a value that fits comes back as it is', (t) => {
  const value = { name: 'a', parts: [1], by: { x: 'y' }, at: '2026-05-01T09:30:00Z' };
  t.is(parse(value), value);
});

test('everything that is wrong is named, each with a pointer to its place', (t) => {
  const error = refusal({ colour: 'green', parts: [1, 'two'], 'a/b~c': 1, by: { 'x/y': 2 } });
  t.is(error.code, 'invalid_request');
  t.deepEqual(
    error.details?.toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    [
      { path: '/a~1b~0c', message: 'is not a known field' },
      { path: '/by/x~1y', message: 'must be string' },
      { path: '/colour', message: 'must be one of red, blue' },
      { path: '/name', message: 'is missing' },
      { path: '/parts/1', message: 'must be integer' },
    ],
  );
  for (const words of ['The letter does not fit', '/name is missing', '/parts/1 must be integer']) {
    t.true(error.message.includes(words), error.message);
  }
});

test('a value of another kind is called "it"', (t) => {
  for (const value of [null, undefined, 1, 'x', []]) {
    const error = refusal(value);
    t.is(error.message, 'The letter does not fit: it must be object.');
    t.deepEqual(error.details, [{ path: '', message: 'must be object' }]);
  }
});

test('limits are named with their number', (t) => {
  t.regex(refusal({ name: '' }).message, /\/name .*1 character/v);
  t.regex(refusal({ name: 'x'.repeat(6) }).message, /\/name .*5 characters/v);
  t.regex(refusal({ name: 'a', parts: [] }).message, /\/parts .*1 item/v);
});

test('a length is counted in characters, so that an emoji is one', (t) => {
  t.notThrows(() => parse({ name: '😀😀😀😀😀' }));
  t.throws(() => parse({ name: '😀😀😀😀😀😀' }));
});

test('a field that every object inherits is as unknown and as missing as any', (t) => {
  t.is(refusal(Object.create({ name: 'a' })).details?.[0]?.message, 'is missing');
  const withProto: unknown = JSON.parse('{"name":"a","__proto__":{"x":1}}');
  t.deepEqual(refusal(withProto).details, [
    { path: '/__proto__', message: 'is not a known field' },
  ]);
  t.is(refusal({ name: 'a', constructor: 1 }).details?.[0]?.path, '/constructor');
});

test('a schema with a keyword or a format that nobody checks is a mistake of ours', (t) => {
  t.throws(() => parser({ type: 'string', maxLenght: 5 }));
  t.throws(() => parser({ type: 'string', format: 'shoe-size' }));
});
