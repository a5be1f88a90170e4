/** The ids that cases use. */
export type Ids = {
  /** The caller's Mastodon channel, with a limit of 500 characters. */
  readonly mine: string;
  /** The caller's second channel, on Bluesky, with a limit of 300. */
  readonly second: string;
  readonly foreign: string;
  readonly unknown: string;
};

export type BadInput = {
  readonly title: string;
  /** An object is sent as JSON, a text unchanged. */
  readonly body: object | string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly code: string;
  /** The expected paths in `details`; omitted for an answer without details. */
  readonly paths?: readonly string[];
  /** Expected in the message. */
  readonly names?: string | RegExp;
};

const nul = '\0';
const half = '\ud83c';

/** Not JSON, or not an object. */
const documents: BadInput[] = [
  ['nothing', ''],
  ['white space', ' \n\t'],
  ['null', 'null'],
  ['a string', '"body"'],
  ['a number', '1'],
  ['half an object', '{"body":'],
  ['a brace', '{'],
  ['single quotes', `{'body':'x'}`],
  ['no quotes', '{body:"x"}'],
  ['a comment', '{"body":"x"/* */}'],
  ['a comma too many', '{"body":"x",}'],
  ['two documents', '{"body":"x"}{"body":"y"}'],
  ['NaN', '{"body":"x","schedule_in_minutes":NaN}'],
  ['Infinity', '{"body":"x","schedule_in_minutes":Infinity}'],
  ['a hexadecimal number', '{"body":"x","schedule_in_minutes":0x10}'],
  ['a leading zero', '{"body":"x","schedule_in_minutes":01}'],
  ['undefined', '{"body":undefined}'],
  ['a line end inside of a text', '{"body":"a\nb"}'],
  ['a broken escape', '{"body":"\\x41"}'],
  ['half an escape', '{"body":"\\u00"}'],
  ['a form', 'body=x&channel_ids=1'],
  ['XML', '<post><body>x</body></post>'],
  ['__proto__', '{"body":"x","__proto__":{"plan":"gold"}}'],
  ['an escaped __proto__', '{"body":"x","\\u005f_proto__":{"plan":"gold"}}'],
  ['a nested __proto__', '{"body":"x","video":{"__proto__":{"privacy":"public"}}}'],
  ['__proto__ for a channel', '{"body":"x","channel_bodies":{"__proto__":"y"}}'],
].map(([title, body]) => ({ title: String(title), body: String(body), code: 'invalid_request' }));

const wrong = (field: string, value: unknown, path = `/${field}`): BadInput => ({
  title: `${field} ${String(JSON.stringify(value)).slice(0, 40)}`,
  body: { body: 'x', [field]: value },
  code: 'invalid_request',
  paths: [path],
});

const types: BadInput[] = [
  { title: 'a list', body: [], code: 'invalid_request', paths: [''] },
  ...[1, null, true, [], {}, ['x']].map((value) => wrong('body', value)),
  ...['x', null, {}, 1, []].map((value) => wrong('thread', value)),
  wrong('thread', ['a', null], '/thread/1'),
  wrong('thread', [['a']], '/thread/0'),
  wrong('thread', Array.from({ length: 26 }).fill('x')),
  ...['x', null, {}, 1].map((value) => wrong('channel_ids', value)),
  wrong('channel_ids', [1], '/channel_ids/0'),
  wrong(
    'channel_ids',
    Array.from({ length: 101 }, () => 'x'),
  ),
  ...['x', null, [], 1].map((value) => wrong('channel_bodies', value)),
  ...['x', null, [], 1].map((value) => wrong('channel_options', value)),
  ...['x', null, [], 1].map((value) => wrong('alt_texts', value)),
  wrong('channel_bodies', { a: 1 }, '/channel_bodies/a'),
  wrong('channel_bodies', { 'a/b~c': null }, '/channel_bodies/a~1b~0c'),
  ...[1_900_000_000, true, {}, []].map((value) => wrong('scheduled_at', value)),
  ...['5', null, true, []].map((value) => wrong('schedule_in_minutes', value)),
  { ...wrong('schedule_in_minutes', 1), body: '{"body":"x","schedule_in_minutes":1e999}' },
  ...['x', null, {}].map((value) => wrong('media_ids', value)),
  ...['x', null, {}].map((value) => wrong('media_urls', value)),
  wrong(
    'media_urls',
    Array.from({ length: 11 }, () => 'https://example.com/a.png'),
  ),
  ...['x', null, [], 1].map((value) => wrong('video', value)),
  wrong('video', { title: 1 }, '/video/title'),
  wrong('video', { title: 'x'.repeat(101) }, '/video/title'),
  wrong('video', { title: `a${nul}` }, '/video/title'),
  wrong('video', { title: `a${half}` }, '/video/title'),
  wrong('video', { privacy: 'secret' }, '/video/privacy'),
  wrong('video', { made_for_kids: 'yes' }, '/video/made_for_kids'),
  wrong('video', { colour: 'red' }, '/video/colour'),
  ...['', null, 1, {}, 'x'.repeat(256)].map((value) => wrong('idempotency_key', value)),
  wrong('idempotency_key', `a${nul}b`),
  wrong('idempotency_key', `a${half}b`),
];

const unknownFields: BadInput[] = [
  ...['bodyy', 'Body', 'status', 'id', 'workspace_id', 'constructor', 'toString', '', ' body'].map(
    (field) => wrong(field, 'x'),
  ),
  wrong('a/b~c', 'x', '/a~1b~0c'),
  {
    title: 'several unknown fields',
    body: { body: 'x', one: 1, two: 2, thread: 1 },
    code: 'invalid_request',
    paths: ['/one', '/two', '/thread'],
  },
  {
    title: 'lists in lists, deep',
    body: `{"body":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
    code: 'invalid_request',
    paths: [''],
  },
  {
    title: 'objects in objects, deep',
    body: `{"body":"x","video":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`,
    code: 'invalid_request',
    paths: [''],
  },
];

const keys: BadInput[] = ['', '   ', 'x'.repeat(256)].map((key) => ({
  title: `Idempotency-Key of ${key.length} characters`,
  headers: { 'idempotency-key': key },
  body: { body: 'x' },
  code: 'invalid_request',
}));

const media: BadInput[] = [
  {
    ...wrong('media_ids', [crypto.randomUUID()]),
    code: 'invalid_media_ids',
    names: /No media file/v,
  },
];

export const malformed: readonly BadInput[] = [
  ...documents,
  ...types,
  ...unknownFields,
  ...keys,
  ...media,
];
