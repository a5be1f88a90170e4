import type { BadCall } from './refuse.ts';

export type BadField = {
  readonly field: string;
  readonly value: unknown;
  /** `invalid_request` when left out. */
  readonly code?: BadCall['code'];
  /** What `details` must point at; the field itself when left out. */
  readonly place?: string | readonly string[];
};

const each = (
  field: string,
  values: readonly unknown[],
  more: Pick<BadField, 'code' | 'place'> = {},
): BadField[] => values.map((value) => ({ field, value, ...more }));

const blanks = ['', ' ', '\n\t ', '\u00a0', '\u3000\u2003', '\ufeff', '\u2028\u2029'];
const noText = ['\0', 'a\0b', '\ud83c', '\udc00', 'a\udfffb', '\udc00\ud800'];
const many = (count: number, value: unknown): unknown[] =>
  Array.from({ length: count }, () => value);

/** Null clears these when a post is edited. */
export const clearable = ['thread', 'channel_bodies', 'media_ids', 'video'];

/** Wrong in a new post, in an edit and in a validation alike. */
export const posts: readonly BadField[] = [
  ...each('body', [0, 1, true, [], ['x'], {}, { toString: 'x' }]),
  ...each('body', blanks, { code: 'empty_body' }),
  ...each('body', noText),
  ...each('thread', ['x', 1, true, {}, { 0: 'x', length: 1 }, [], many(26, 'x')]),
  ...each('thread', [[1], [null], [['x']], [{}], [true]], { place: '/thread/0' }),
  ...each(
    'thread',
    blanks.map((blank) => ['a', blank]),
    { code: 'empty_body', place: '/thread/1' },
  ),
  ...each(
    'thread',
    noText.map((text) => ['a', text]),
    { place: '/thread/1' },
  ),
  ...each('channel_ids', ['x', 1, true, {}]),
  ...each('channel_ids', [[1], [null], [[]], [{}]], { place: '/channel_ids/0' }),
  ...each('channel_bodies', ['x', 1, true, [], ['x']]),
  ...each('channel_bodies', [{ a: 1 }, { a: null }, { a: [] }, { a: {} }], {
    place: '/channel_bodies/a',
  }),
  ...each('scheduled_at', [0, 1_900_000_000, true, {}, []]),
  ...each('schedule_in_minutes', ['5', '', true, [], {}, [5]]),
  ...each('media_ids', ['x', 1, true, {}]),
  ...each('media_ids', [[1], [null], [[]]], { place: '/media_ids/0' }),
  ...each('media_urls', ['x', 1, true, {}, many(11, 'https://8.8.8.8/a.png')]),
  ...each('media_urls', [[1], [null], [{}]], { place: '/media_urls/0' }),
  ...each('video', ['x', 1, true, [], ['x']]),
  ...each('video', [{ title: 1 }, { title: null }, { title: 'x'.repeat(101) }], {
    place: '/video/title',
  }),
  ...each(
    'video',
    noText.map((title) => ({ title })),
    { place: '/video/title' },
  ),
  ...each(
    'video',
    [{ privacy: 'secret' }, { privacy: 'Public' }, { privacy: '' }, { privacy: 1 }],
    {
      place: '/video/privacy',
    },
  ),
  ...each('video', [{ made_for_kids: 'yes' }, { made_for_kids: 0 }, { made_for_kids: null }], {
    place: '/video/made_for_kids',
  }),
  {
    field: 'video',
    value: { colour: 1, toString: 2 },
    place: ['/video/colour', '/video/toString'],
  },
  ...['Body', 'bodyy', ' body', 'id', 'status', 'workspace_id', 'created_at', 'media', 'a/b~c'].map(
    (field) => ({ field, value: 'x', place: `/${field.replace('~', '~0').replace('/', '~1')}` }),
  ),
];

const twoYearsOfMinutes = 2 * 366 * 24 * 60;

/** After a year that is in reach. */
const wrongSpellings = [
  '01-01',
  '01-01T10:00:00',
  '01-01T10:00:00.000',
  '1-1T10:00:00Z',
  '02-30T10:00:00Z',
  '02-31T10:00:00Z',
  '04-31T10:00:00Z',
  '00-10T10:00:00Z',
  '13-01T10:00:00Z',
  '01-00T10:00:00Z',
  '01-32T10:00:00Z',
  '01-01 10:00:00Z',
  '01-01T24:00:00Z',
  '01-01T25:00:00Z',
  '01-01T10:60:00Z',
  '01-01T10:00:60Z',
  '06-30T23:59:60Z', // Where a leap second would be.
  '01-01T10:00:61Z',
  '01-01T10:00:00+24:00',
  '01-01T10:00:00-24:00',
  '01-01T10:00:00+10:60',
  '01-01T10:00:00+0200',
  '01-01T10:00:00+02',
  '01-01T10:00:00 Z',
  '01-01T10:00:00 +02:00',
  '01-01T10:00:00Z ',
  '01-01T10:00:00ZZ',
  '01-01T10:00:00z+00:00',
  '01-01T10:00:00UTC',
  '01-01T10:00:00[Europe/Paris]',
  '01-01T10:00Z',
  '01-01T10Z',
  '01-01T10:00:00,5Z',
  '01-01T10:00:00.Z',
  '01-01T１０:00:00Z',
  '001T10:00:00Z',
  'W01-1T10:00:00Z',
];

export const times = (): readonly BadField[] => {
  const year = new Date().getUTCFullYear() + 1;
  const inMinutes = (minutes: number): string =>
    new Date(Date.now() + minutes * 60_000).toISOString();
  const wrong = [
    '',
    ' ',
    'now',
    'tomorrow',
    'null',
    '0',
    '1900000000',
    '\0',
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00Z',
    '1970-01-01T00:00:00Z',
    '9999-12-31T23:59:59Z',
    `+0${year}-01-01T10:00:00Z`,
    `-${year}-01-01T10:00:00Z`,
    `${String(year).slice(2)}-01-01T10:00:00Z`,
    ` ${year}-01-01T10:00:00Z`,
    inMinutes(-6),
    inMinutes(-60 * 24),
    inMinutes(twoYearsOfMinutes + 60),
    ...wrongSpellings.map((rest) => `${year}-${rest}`),
  ];
  return [
    ...each('scheduled_at', wrong, { code: 'invalid_scheduled_at' }),
    ...each('schedule_in_minutes', [-1, -1e-9, -1e308, 1e308, 1e21, twoYearsOfMinutes + 1], {
      code: 'invalid_scheduled_at',
    }),
  ];
};

/** Wrong in a new endpoint and in an edit alike. */
export const webhooks: readonly BadField[] = [
  ...each('url', [1, true, [], {}, null]),
  ...each(
    'url',
    [
      '',
      'x',
      'http://8.8.8.8/',
      'ftp://8.8.8.8/',
      'https://127.0.0.1/',
      'https://[::1]/',
      'https://[::ffff:10.0.0.1]/',
      'https://169.254.169.254/',
      'https://2130706433/',
      'https://localhost/',
      'https://user:secret@8.8.8.8/',
      'https://8.8.8.8:22/',
      'javascript:alert(1)',
      '//8.8.8.8/',
      `https://8.8.8.8/${'x'.repeat(3000)}`,
      'https://8.8.8.8/\0',
      'https://8.8.8.8/\ud800',
    ],
    { code: 'invalid_webhook_url' },
  ),
  ...each('events', ['post.failed', 1, true, {}, null]),
  ...each('events', [[1], [null], [[]]], { place: '/events/0' }),
  ...each(
    'events',
    [[], [''], ['*'], ['post.sent'], ['Post.Failed'], ['__proto__'], ['toString']],
    {
      code: 'invalid_events',
    },
  ),
  ...each('description', [1, true, [], {}, 'x'.repeat(501), 'a\0', 'a\ud800']),
  ...each('colour', ['red']),
  ...each('created_at', ['2026-01-01T00:00:00Z']),
  ...each('constructor', [{}]),
];

/** Not JSON, or not an object, or an object with names that JavaScript would trip over. */
export const documents: readonly (readonly [title: string, body: string])[] = [
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
