import type { BadCall } from './refuse.ts';

export type BadField = {
  readonly field: string;
  readonly value: unknown;
  /** `invalid_request` when omitted. */
  readonly code?: BadCall['code'];
  /** The expected path in `details`; the field itself when omitted. */
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

/** Invalid in a new post, an edit and a validation. */
export const posts: readonly BadField[] = [
  ...each('body', [0, 1, true, [], ['x'], {}, { toString: 'x' }]),
  ...each('body', blanks, { code: 'empty_body' }),
  ...each('body', noText),
  ...each('thread', ['x', 1, true, {}, { 0: 'x', length: 1 }, [], many(26, 'x')]),
  ...each('thread', [[1], [null], [['x']], [true]], { place: '/thread/0' }),
  ...each('thread', [[{ text: 1 }], [{ text: null }], [{ text: ['x'] }]], {
    place: '/thread/0/text',
  }),
  ...each('thread', [[{ text: 'a', colour: 1 }]], { place: '/thread/0/colour' }),
  ...each(
    'thread',
    ['x', 1, null, {}, many(101, 'x')].map((ids) => [{ text: 'a', media_ids: ids }]),
    { place: '/thread/0/media_ids' },
  ),
  ...each(
    'thread',
    ['x', 1, null, []].map((texts) => [{ text: 'a', alt_texts: texts }]),
    { place: '/thread/0/alt_texts' },
  ),
  ...each(
    'thread',
    [{}, { media_ids: [] }, ...blanks.map((text) => ({ text }))].map((part) => ['a', part]),
    { code: 'empty_body', place: '/thread/1/text' },
  ),
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
  ...each('channel_options', ['x', 1, true, [], ['x']]),
  ...each('channel_options', [{ a: 1 }, { a: null }, { a: 'x' }, { a: [] }], {
    place: '/channel_options/a',
  }),
  ...each('alt_texts', ['x', 1, true, [], ['x']]),
  ...each(
    'alt_texts',
    [1, null, {}, 'x'.repeat(5001), ...blanks, ...noText].map((text) => ({ a: text })),
    { place: '/alt_texts/a' },
  ),
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
    { place: '/video/privacy' },
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

/** Invalid in an edit of a file. */
export const files: readonly BadField[] = [
  ...each('alt_text', [1, true, [], {}, 'x'.repeat(5001), ...blanks, ...noText]),
  ...each('name', [1, true, [], {}, null, '', 'x'.repeat(256), ...noText]),
  ...each('type', ['image/png']),
  ...each('constructor', [{}]),
];

/** Invalid in a new endpoint and in an edit. */
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
    [[''], ['post.*'], ['post.sent'], ['Post.Failed'], ['__proto__'], ['toString']],
    { code: 'invalid_events', place: '/events/0' },
  ),
  ...each('events', [[]], { code: 'invalid_events' }),
  ...each('description', [1, true, [], {}, 'x'.repeat(501), 'a\0', 'a\ud800']),
  ...each('colour', ['red']),
  ...each('created_at', ['2026-01-01T00:00:00Z']),
  ...each('constructor', [{}]),
];
