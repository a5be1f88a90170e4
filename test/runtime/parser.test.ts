import test from 'ava';
import { AppError } from '../../domain/errors.ts';
import { editChannelSchema } from '../../api/channels/schemas.ts';
import { editMediaSchema } from '../../api/media/schemas.ts';
import { settleSchema } from '../../api/posts/schemas.ts';
import { createPostSchema, editPostSchema } from '../../services/posts/post-request.ts';
import { createEndpointSchema, editEndpointSchema } from '../../api/webhooks/schemas.ts';
import { openNetworks } from '../../networks/registry.ts';
import { unknownName } from '../../runtime/nearest-name.ts';
import { parser, faultSentences } from '../../runtime/parser.ts';

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

test('a valid value is returned unchanged', (t) => {
  const value = { name: 'a', parts: [1], by: { x: 'y' }, at: '2026-05-01T09:30:00Z' };
  t.is(parse(value), value);
});

test('every error is reported, each with a pointer to its place', (t) => {
  const error = refusal({ colour: 'green', parts: [1, 'two'], 'a/b~c': 1, by: { 'x/y': 2 } });
  t.is(error.code, 'invalid_request');
  t.deepEqual(
    error.details?.toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    [
      {
        path: '/a~1b~0c',
        message: 'Unknown field `a/b~c`. Known: name, colour, parts, by, at.',
      },
      { path: '/by/x~1y', message: 'must be a string, not 2' },
      { path: '/colour', message: 'must be one of red, blue', allowed: ['red', 'blue'] },
      { path: '/name', message: 'is missing' },
      { path: '/parts/1', message: 'must be a whole number, not a string' },
    ],
  );
  for (const words of ['The letter does not fit', '/name is missing', '/parts/1 must be a whole']) {
    t.true(error.message.includes(words), error.message);
  }
});

test('a value of the wrong type is called "it"', (t) => {
  const values = { null: null, undefined, '1': 1, 'a string': 'x', 'an array': [] };
  for (const [called, value] of Object.entries(values)) {
    const error = refusal(value);
    t.is(error.message, `The letter does not fit: it must be an object, not ${called}.`);
    t.deepEqual(error.details, [{ path: '', message: `must be an object, not ${called}` }]);
  }
});

test('errors about limits contain the limit', (t) => {
  t.regex(refusal({ name: '' }).message, /\/name must not be empty/v);
  t.regex(refusal({ name: 'x'.repeat(6) }).message, /\/name must have at most 5 characters/v);
  t.regex(refusal({ name: 'a', parts: [] }).message, /\/parts must not be empty/v);
});

test('an unknown field names the nearest known one, or all of them', (t) => {
  const said = (given: string, known: readonly string[]): string =>
    unknownName('field', given, known);
  const fields = ['body', 'channel_ids', 'scheduled_at', 'schedule_in_minutes', 'media_urls'];
  for (const [given, meant] of [
    ['shedule_in_minutes', 'schedule_in_minutes'],
    ['scheduleInMinutes', 'schedule_in_minutes'],
    ['Channel-IDs[]', 'channel_ids'],
    ['chanel_id', 'channel_ids'],
    ['boddy', 'body'],
    ['content', 'body'],
    ['publish_at', 'scheduled_at'],
    ['profiles', 'channel_ids'],
  ]) {
    t.is(said(given ?? '', fields), `Unknown field \`${given}\`. Did you mean \`${meant}\`?`);
  }

  for (const given of ['', 'x', 'colour', 'constructor', '日本', 'b']) {
    t.is(said(given, fields), `Unknown field \`${given}\`. Known: ${fields.join(', ')}.`);
  }

  t.is(said('x'.repeat(1000), []), `Unknown field \`${'x'.repeat(63)}…\`. None is known here.`);
});

test('a number beyond the range of numbers is reported as too large', (t) => {
  const error = refusal({ name: 'a', parts: JSON.parse('[1e400]') });
  t.is(error.details?.[0]?.message, 'must be a whole number, not a number that is too large');
});

test('every keyword that a request can violate has a message', (t) => {
  const known = new Set([
    ...Object.keys(faultSentences),
    'properties',
    'items',
    'description',
    'examples',
  ]);
  const unknown: string[] = [];
  const walk = (one: object): void => {
    for (const [keyword, part] of Object.entries(one)) {
      if (!known.has(keyword)) {
        unknown.push(keyword);
      }
      const inside = keyword === 'properties' ? Object.values(part) : [part];
      if (['properties', 'items', 'additionalProperties'].includes(keyword)) {
        inside.filter((each) => typeof each === 'object').forEach(walk);
      }
    }
  };
  const schemas = [
    createPostSchema,
    editPostSchema,
    settleSchema,
    editChannelSchema,
    editMediaSchema,
    createEndpointSchema,
    editEndpointSchema,
    ...Object.values(openNetworks({}).rules).map(({ options }) => options),
  ];
  schemas.forEach(walk);
  t.deepEqual(unknown, []);
});

test('a length counts characters, and an emoji is one', (t) => {
  t.notThrows(() => parse({ name: '😀😀😀😀😀' }));
  t.like(refusal({ name: '😀😀😀😀😀\ud83d' }).details?.[0], { limit: 5, actual: 6 });
});

test('a field that every object inherits counts as unknown or missing', (t) => {
  t.is(refusal(Object.create({ name: 'a' })).details?.[0]?.message, 'is missing');
  const withProto: unknown = JSON.parse('{"name":"a","__proto__":{"x":1}}');
  t.deepEqual(refusal(withProto).details, [
    {
      path: '/__proto__',
      message: 'Unknown field `__proto__`. Known: name, colour, parts, by, at.',
    },
  ]);
  t.is(refusal({ name: 'a', constructor: 1 }).details?.[0]?.path, '/constructor');
});

test('a schema with an unknown keyword or format is a programming error', (t) => {
  t.throws(() => parser({ type: 'string', maxLenght: 5 })('x'));
  t.throws(() => parser({ type: 'string', format: 'shoe-size' })('x'));
});
