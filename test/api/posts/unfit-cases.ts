import type { BadInput, Ids } from './bad-input-cases.ts';

const nul = '\0';
const half = '\ud83c';

const empty: BadInput[] = [
  { title: 'no field', body: {}, code: 'empty_body' },
  { title: 'a time only', body: { schedule_in_minutes: 5 }, code: 'empty_body' },
  { title: 'no channel bodies', body: { channel_bodies: {} }, code: 'empty_body' },
  ...['', ' ', '\n\t ', '\u00a0', '\u3000\u2003', '\ufeff'].map((text) => ({
    title: `blank ${JSON.stringify(text)}`,
    body: { body: text },
    code: 'empty_body',
    paths: ['/body'],
  })),
  {
    title: 'blank parts of a thread',
    body: { thread: ['a', '', 'b', ' '] },
    code: 'empty_body',
    paths: ['/thread/1', '/thread/3'],
  },
  {
    title: 'a blank body beside a thread',
    body: { body: ' ', thread: ['a'] },
    code: 'empty_body',
    paths: ['/body'],
  },
];

const unstorable: BadInput[] = [nul, `a${nul}b`, half, `a\udc00b`].flatMap((text) => [
  {
    title: `body ${JSON.stringify(text)}`,
    body: { body: text },
    code: 'invalid_request',
    paths: ['/body'],
  },
  {
    title: `thread ${JSON.stringify(text)}`,
    body: { thread: ['a', text] },
    code: 'invalid_request',
    paths: ['/thread/1'],
  },
]);

const wrongIds = ({ mine, second, foreign, unknown }: Ids): BadInput[] => {
  const named = (id: string, ids = [id]): BadInput => ({
    title: `channel ${id.slice(0, 20)}`,
    body: { body: 'x', channel_ids: ids },
    code: 'invalid_channel_ids',
    paths: ['/channel_ids'],
    names: id,
  });
  const stray = (id: string): BadInput => ({
    title: `channel_bodies for ${id.slice(0, 20)}`,
    body: { body: 'x', channel_ids: [mine], channel_bodies: { [id]: 'y' } },
    code: 'invalid_channel_ids',
    paths: ['/channel_bodies'],
    names: id,
  });
  return [
    ...['', 'x', '1', 'constructor', `' or 1=1 --`, `a${nul}`, half, '?', '$1'].map((id) =>
      named(id),
    ),
    ...[mine.toUpperCase(), `{${mine}}`, mine.replaceAll('-', ''), ` ${mine}`].map((id) =>
      named(id),
    ),
    named(foreign),
    named(unknown),
    named(foreign, [mine, foreign]),
    named('x', [mine, second, 'x', mine]),
    stray(second),
    stray(foreign),
    stray(unknown),
    stray('constructor'),
    stray('toString'),
    stray(mine.toUpperCase()),
    {
      title: 'channel_bodies without channel_ids',
      body: { channel_bodies: { [mine]: 'y' } },
      code: 'invalid_channel_ids',
      paths: ['/channel_bodies'],
    },
    {
      title: 'a blank text for a channel',
      body: { body: 'x', channel_ids: [mine], channel_bodies: { [mine]: ' ' } },
      code: 'empty_body',
      paths: [`/channel_bodies/${mine}`],
    },
    {
      title: 'NUL in the text for a channel',
      body: { body: 'x', channel_ids: [mine], channel_bodies: { [mine]: nul } },
      code: 'invalid_request',
      paths: [`/channel_bodies/${mine}`],
    },
  ];
};

const wrongTimes = ({ mine }: Ids, nowMs: number): BadInput[] => {
  const at = (field: string, value: unknown): BadInput => ({
    title: `${field} ${String(value)}`,
    body: { body: 'x', channel_ids: [mine], [field]: value },
    code: 'invalid_scheduled_at',
    paths: [`/${field}`],
    names: field,
  });
  const inMinutes = (minutes: number): string => new Date(nowMs + minutes * 60_000).toISOString();
  const year = new Date(nowMs).getUTCFullYear() + 1;
  const times = [
    '',
    'tomorrow',
    '0',
    '1900000000',
    nul,
    '2020-01-01T00:00:00Z',
    '9999-12-31T23:59:59Z',
    ...wrongSpellings.map((rest) => `${year}-${rest}`),
    inMinutes(-5.1),
    inMinutes(twoYearsOfMinutes + 60),
  ];
  const minutes = [-1, -0.001, -1e308, 1e308, twoYearsOfMinutes + 1];
  return [
    ...times.map((value) => at('scheduled_at', value)),
    ...minutes.map((value) => at('schedule_in_minutes', value)),
  ];
};

const twoYearsOfMinutes = 2 * 366 * 24 * 60;

/** Appended to a year that is in range. */
const wrongSpellings = [
  '01-01',
  '01-01T10:00:00',
  '02-30T10:00:00Z',
  '13-01T10:00:00Z',
  '01-01 10:00:00Z',
  '01-01T24:00:00Z',
  '01-01T10:00:60Z',
  '01-01T10:00:00+25:00',
  '01-01T10:00:00+0200',
  '01-01T10:00Z',
  '01-01T10:00:00Z ',
];

const unpublishable = ({ mine, second }: Ids): BadInput[] => {
  const soon = { schedule_in_minutes: 60 };
  return [
    { title: 'no channels', body: { body: 'x', ...soon }, code: 'no_channels' },
    {
      title: 'an empty list of channels',
      body: { body: 'x', channel_ids: [], schedule_in_minutes: 0 },
      code: 'no_channels',
    },
    {
      title: 'too long for Bluesky',
      body: { body: 'x'.repeat(301), channel_ids: [mine, second], ...soon },
      code: 'invalid_content',
      paths: ['/body'],
      names: /bluesky channel b\.test.*300.*301/v,
    },
    {
      title: 'too long for both',
      body: { body: 'x'.repeat(501), channel_ids: [mine, second], ...soon },
      code: 'invalid_content',
      paths: ['/body', '/body'],
      names: /mastodon channel @ana@social\.test.*500.*501.*bluesky channel b\.test.*300.*501/v,
    },
    {
      title: 'one part of a thread too long',
      body: { thread: ['a', 'x'.repeat(301)], channel_ids: [second], ...soon },
      code: 'invalid_content',
      paths: ['/thread/1'],
      names: /b\.test.*Part 2.*300.*301/v,
    },
    {
      title: 'the text of a channel too long',
      body: {
        body: 'x',
        channel_ids: [mine, second],
        channel_bodies: { [second]: 'y'.repeat(301) },
        ...soon,
      },
      code: 'invalid_content',
      paths: [`/channel_bodies/${second}`],
      names: /b\.test.*301/v,
    },
    {
      title: 'no text for one of the channels',
      body: { channel_ids: [mine, second], channel_bodies: { [second]: 'y' }, ...soon },
      code: 'invalid_content',
      paths: ['/body'],
      names: /@ana@social\.test.*neither a text nor a file/v,
    },
  ];
};

/** @param nowMs Time of the API's clock. */
export const unfit = (ids: Ids, nowMs: number): BadInput[] => [
  ...empty,
  ...unstorable,
  ...wrongIds(ids),
  ...wrongTimes(ids, nowMs),
  ...unpublishable(ids),
];
