import test from 'ava';
import type { Owned } from '../owned.ts';
import { allAreRefused, type BadCall } from './refuse.ts';

/** Not JSON, or not an object, or an object with names that JavaScript would trip over. */
const documents: readonly (readonly [title: string, body: string])[] = [
  ['nothing', ''],
  ['white space', ' \n\t'],
  ['null', 'null'],
  ['true', 'true'],
  ['a text', '"body"'],
  ['a number', '1'],
  ['a list', '[]'],
  ['a list of an object', '[{"body":"x"}]'],
  ['a brace', '{'],
  ['half an object', '{"body":'],
  ['a bracket too many', '{}]'],
  ['single quotes', `{'body':'x'}`],
  ['no quotes', '{body:"x"}'],
  ['a comment', '{/* */}'],
  ['a line comment', '{} // {}'],
  ['a comma too many', '{"body":"x",}'],
  ['two documents', '{}{}'],
  ['a byte order mark in the middle', '{\ufeff}'],
  ['NaN', '{"x":NaN}'],
  ['-Infinity', '{"x":-Infinity}'],
  ['a hexadecimal number', '{"x":0x10}'],
  ['a leading zero', '{"x":01}'],
  ['a plus', '{"x":+1}'],
  ['a bare point', '{"x":.5}'],
  ['undefined', '{"x":undefined}'],
  ['a line end inside of a text', '{"x":"a\nb"}'],
  ['NUL inside of a text', '{"x":"a\0b"}'],
  ['a broken escape', String.raw`{"x":"\x41"}`],
  ['half an escape', String.raw`{"x":"\u00"}`],
  ['a form', 'body=x&url=y'],
  ['XML', '<post><body>x</body></post>'],
  ['an unknown field', '{"colour":"red"}'],
  ['an empty name', '{"":1}'],
  ['a name of NUL', String.raw`{"\u0000":1}`],
  ['a name of half a surrogate pair', String.raw`{"\ud800":1}`],
  ['__proto__', '{"__proto__":{"body":"x"}}'],
  ['__proto__ that is null', '{"__proto__":null}'],
  ['an escaped __proto__', String.raw`{"\u005f_proto__":{"body":"x"}}`],
  ['constructor', '{"constructor":{"prototype":{"body":"x"}}}'],
  ['prototype', '{"prototype":{}}'],
  ['toString', '{"toString":"x"}'],
  ['hasOwnProperty', '{"hasOwnProperty":1}'],
  ['valueOf', '{"valueOf":1}'],
  ['__defineGetter__', '{"__defineGetter__":1}'],
  ['an unknown field twice', '{"x":1,"x":2}'],
  ['lists in lists, 100,000 deep', `{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
  ['lists that never end', `{"x":${'['.repeat(100_000)}`],
  ['objects in objects, deep', `{"x":${'{"x":'.repeat(50_000)}1${'}'.repeat(50_000)}}`],
  ['a number of 100,000 digits', `{"x":${'9'.repeat(100_000)}}`],
  ['10,000 unknown fields', JSON.stringify(Object.fromEntries(Array(10_000).fill(0).entries()))],
];

/** The calls that take a body, by method and path. */
const calls = ({ draft, failed, webhook }: Owned): readonly (readonly [string, string])[] => [
  ['POST', '/posts'],
  ['POST', '/posts/validate'],
  ['PATCH', `/posts/${draft}`],
  ['POST', `/posts/${failed}/settle`],
  ['POST', '/webhooks'],
  ['PATCH', `/webhooks/${webhook}`],
];

test('a body that is no JSON object, or has a field that there is not, is refused by every call that takes one', (t) =>
  allAreRefused(t, (owned) =>
    calls(owned).flatMap(([method, path]) =>
      documents.map(([title, body]): BadCall => ({
        title,
        method,
        path,
        body,
        code: 'invalid_request',
      })),
    ),
  ));

const encodings: readonly (readonly [string, Buffer])[] = [
  ['Latin-1', Buffer.from('{"body":"café"}', 'latin1')],
  ['UTF-16', Buffer.from('{"body":"x"}', 'utf16le')],
  ['UTF-16 with its mark', Buffer.from('\ufeff{"body":"x"}', 'utf16le')],
  ['a stray byte', Buffer.from('7b22626f6479223a2280227d', 'hex')],
  ['an overlong slash', Buffer.from('7b22626f6479223a22c0af227d', 'hex')],
  ['a surrogate in UTF-8', Buffer.from('7b22626f6479223a22eda080227d', 'hex')],
  ['a cut emoji', Buffer.from('7b22626f6479223a22f09f98227d', 'hex')],
];

test('a body that is not UTF-8 is refused by every call that takes one', (t) =>
  allAreRefused(t, (owned) =>
    calls(owned).flatMap(([method, path]) =>
      encodings.map(([title, bytes]): BadCall => {
        const body = new Uint8Array(bytes);
        return { title, method, path, body, code: 'invalid_request' };
      }),
    ),
  ));

test('a body of one byte over 1 MB is refused by every call that takes one', (t) =>
  allAreRefused(t, (owned) =>
    calls(owned).map(([method, path]): BadCall => {
      const frame = '{"body":""}'.length;
      const body = `{"body":"${'x'.repeat(1024 * 1024 + 1 - frame)}"}`;
      return { title: '1 MB + 1', method, path, body, code: 'payload_too_large' };
    }),
  ));

const types = [
  'text/json',
  'text/plain',
  'text/plain; charset=utf-8',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/xml',
  'application/octet-stream',
  'application/json5',
  'application/jsonp',
  'application/ld+json',
  'application/merge-patch+json',
  'application/json-patch+json',
  'application/vnd.api+json',
  'application/json; charset=utf-16',
  'application/json; charset=latin1',
  'json',
  '*/*',
  ';',
];

test('a body of another content type, or in another character set, is refused by every call that takes one', (t) =>
  allAreRefused(t, (owned) =>
    calls(owned).flatMap(([method, path]) =>
      types.map((type): BadCall => ({
        title: type,
        method,
        path,
        headers: { 'content-type': type },
        body: '{"body":"x"}',
        code: 'unsupported_media_type',
      })),
    ),
  ));

test('a body is refused by every call that takes none', (t) =>
  allAreRefused(t, ({ scheduled, failed, webhook, delivery }) =>
    [
      `/posts/${scheduled}/cancel`,
      `/posts/${failed}/retry`,
      `/webhooks/${webhook}/test`,
      `/webhooks/${webhook}/rotate`,
      `/webhooks/${webhook}/replay?since=2020-01-01T00:00:00Z`,
      `/webhooks/${webhook}/deliveries/${delivery}/replay`,
    ].flatMap((path) =>
      ['{"x":1}', '[1]', '"x"', '1', '{', 'null', '{"__proto__":1}'].map((body): BadCall => ({
        title: body,
        method: 'POST',
        path,
        body,
        code: 'invalid_request',
      })),
    ),
  ));
