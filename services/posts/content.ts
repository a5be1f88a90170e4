import { timeWarning } from '../../domain/due-time.ts';
import { AppError, pointerToken, type ErrorDetail } from '../../domain/errors.ts';
import type { Json } from '../../domain/json-schema.ts';
import type { ChannelFile } from '../../domain/media.ts';
import type { PostView } from '../../domain/post-view.ts';
import { plainFault, type ContentFault } from '../../domain/warnings.ts';
import { characterCount, isText, notText } from '../../domain/texts.ts';
import type { Options, Rules } from '../../networks/content-rules.ts';
import { assertLabels } from './labels.ts';
import type { PostInput } from './post-request.ts';
import {
  channelFilesOf,
  fileFields,
  mediaLists,
  noDownloads,
  type Downloads,
} from './read-files.ts';

/**
 * Limit of all texts of a post together, in characters. The first text counts for each channel that gets it, because
 * answers and events show it there.
 */
export const longestTexts = 300_000;

/** The content of a post in a request or in the database, without the files of its parts. */
export type PostContent = Pick<PostView, 'body' | 'thread' | 'video'> & {
  readonly overrides: Readonly<Record<string, string>>;
  readonly options: Readonly<Record<string, Options>>;
  readonly channelFiles: Readonly<Record<string, readonly ChannelFile[]>>;
};

const empty: PostContent = {
  body: null,
  thread: null,
  overrides: {},
  options: {},
  channelFiles: {},
  video: null,
};

export const postContentOf = (input: PostInput, downloads: Downloads = noDownloads): PostContent =>
  editedContent(empty, input, downloads);

/** Merges the sent fields into the stored content. Null clears a field. */
export const editedContent = (
  stored: PostContent,
  {
    body = stored.body,
    thread,
    video = stored.video,
    channel_bodies: overrides = stored.overrides,
    channel_options: options = stored.options,
    channel_media: channelMedia,
  }: PostInput,
  downloads: Downloads,
): PostContent => ({
  body,
  thread: thread === undefined ? stored.thread : thread && threadTexts(thread),
  video,
  overrides: overrides ?? {},
  options: withoutEmpty(options ?? {}),
  channelFiles:
    channelMedia === undefined
      ? stored.channelFiles
      : channelFilesOf(channelMedia ?? {}, downloads),
});

const threadTexts = (thread: NonNullable<PostInput['thread']>): string[] =>
  thread.map((part) => (typeof part === 'string' ? part : (part.text ?? '')));

const withoutEmpty = (options: PostContent['options']): PostContent['options'] =>
  Object.fromEntries(Object.entries(options).filter(([, own]) => Object.keys(own).length > 0));

export const textBytes = ({
  body,
  thread,
  overrides,
  options,
  channelFiles: files,
}: PostContent): number => {
  const texts = [body ?? '', ...(thread ?? []), ...Object.values(overrides)];
  const json = [...Object.values(options), ...Object.values(files)];
  return (
    texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) +
    json.reduce((sum, own) => sum + bytesOfJson(own), 0)
  );
};

/** The size of a value of type `jsonb` in PostgreSQL, as `octet_length(options::text)` counts it. */
export const bytesOfJson = (value: Json | undefined): number =>
  value === null || value === undefined ? 0 : bytesOf(value);

function bytesOf(value: Json): number {
  if (typeof value !== 'object' || value === null) {
    return Buffer.byteLength(JSON.stringify(value));
  }

  const parts = Array.isArray(value)
    ? value.map(bytesOf)
    : Object.entries(value).map(([name, inside]) => bytesOf(name) + ': '.length + bytesOf(inside));
  const separators = Math.max(0, parts.length - 1) * ', '.length;
  return parts.reduce((sum, bytes) => sum + bytes, '{}'.length + separators);
}

/** Refuses blank alt texts, texts that PostgreSQL cannot store, and labels that do not fit. */
export function assertTexts(input: PostInput): void {
  const texts = textsOf(input);
  const altTexts = altTextsOf(input);
  assertShortEnough([...texts, ...altTexts].map(([, text]) => text));
  const title = input.video?.title ?? '';
  const all = [...texts, ...altTexts, ['/video/title', title] as const];
  refuse(
    all.filter(([, text]) => !isText(text)),
    notText,
  );
  refuse(
    altTexts.filter(([, text]) => text.trim() === ''),
    'must not be blank',
  );
  assertLabels(input);
}

function refuse(wrong: readonly Located[], message: string): void {
  if (wrong.length > 0) {
    throw new AppError('invalid_request', `${pathsOf(wrong)} ${message}.`, {
      details: wrong.map(([path]) => ({ path, message })),
    });
  }
}

export function requestWarnings(
  rules: Readonly<Record<string, Rules>>,
  channels: readonly { readonly platform: string }[],
  input: PostInput,
  { body, thread, video }: Pick<PostContent, 'body' | 'thread' | 'video'>,
): ContentFault[] {
  const unknown = Object.keys(video ?? {}).filter((name) =>
    channels.every(
      ({ platform }) => !Object.hasOwn(rules[platform]?.options.properties ?? {}, name),
    ),
  );
  const unused = `No channel of the post takes these settings of video: ${unknown.join(', ')}.`;
  const isTwice = fileFields(input).some(
    ({ media_ids: ids }) => new Set(ids).size < (ids?.length ?? 0),
  );
  const time = timeWarning(input);
  const timeRule = input.schedule_in_minutes === undefined ? 'local_time' : 'field_ignored';
  const ignored =
    'The post has both body and thread: thread takes precedence, and body is not published.';
  const twice = 'media_ids names a file more than once: it is attached once.';
  return [
    ...(time === null ? [] : [plainFault(time, timeRule, '/scheduled_at')]),
    ...(body && thread ? [plainFault(ignored, 'field_ignored', '/body')] : []),
    ...(channels.length > 0 && unknown.length > 0
      ? [plainFault(unused, 'field_ignored', '/video')]
      : []),
    ...(isTwice ? [plainFault(twice, 'file_repeated', '/media_ids')] : []),
  ];
}

/** Warns that a `timezone` sent alone moves the post, which keeps its local time. @param asked The request as sent. */
export function movedTo(
  { scheduled_at: local }: PostInput,
  asked: PostInput,
  [before, after]: readonly [Date | null, Date | null],
): ContentFault[] {
  const [was, is] = [before?.toISOString(), after?.toISOString()];
  const message = `The post keeps its local time ${local} in the new timezone: it was due at ${was}, and is due at ${is}. Send scheduled_at too for another time.`;
  const isMoved = local !== asked.scheduled_at && was && is && was !== is;
  return isMoved ? [plainFault(message, 'local_time', '/timezone')] : [];
}

/** @param parts The parts that have files. @param input The request, whose places the errors name. */
export function assertNotEmpty(
  { body, thread, overrides, channelFiles }: PostContent,
  parts: ReadonlySet<number>,
  channelIds: readonly string[],
  input: PostInput,
): void {
  const texts = [...(body === null ? [] : [body]), ...(thread ?? []), ...Object.values(overrides)];
  const first = thread?.[0] ?? body ?? '';
  const repeats = channelIds.filter((id) => overrides[id] === undefined).length - 1;
  assertShortEnough(texts, characterCount(first) * Math.max(0, repeats));
  const ofChannels = Object.values(channelFiles).some(({ length }) => length > 0);
  const hasMedia = parts.size > 0 || ofChannels;
  const all = { body, thread: input.thread ?? thread, channel_bodies: overrides };
  const blank = textsOf(all).filter(([path, text]) => {
    const [, field = '', key = ''] = path.split('/');
    const hasFiles = {
      body: hasMedia,
      thread: parts.has(Number(key)) || (key === '0' && ofChannels),
      channel_bodies: (channelFiles[key]?.length ?? parts.size) > 0,
    }[field];
    return text.trim() === '' && !hasFiles;
  });
  if (blank.length > 0) {
    const message = 'must not be blank without files beside it';
    throw new AppError('empty_body', `${pathsOf(blank)} ${message}.`, {
      details: blank.map(([path]) => ({ path, message })),
    });
  }

  const hasText = body !== null || thread !== null || Object.keys(overrides).length > 0;
  if (!hasText && !hasMedia) {
    throw new AppError('empty_body', 'A post needs a body, a thread, channel_bodies or media.');
  }
}

type Located = readonly [path: ErrorDetail['path'], text: string];

const textsOf = ({
  body,
  thread,
  channel_bodies: overrides,
}: Pick<PostInput, 'body' | 'thread' | 'channel_bodies'>): Located[] => [
  ...(typeof body === 'string' ? [['/body', body] as const] : []),
  ...(thread ?? []).map((part, index) =>
    typeof part === 'string'
      ? ([`/thread/${index}`, part] as const)
      : ([`/thread/${index}/text`, part.text ?? ''] as const),
  ),
  ...Object.entries(overrides ?? {}).map(
    ([id, text]) => [`/channel_bodies/${pointerToken(id)}`, text] as const,
  ),
];

const altTextsOf = (input: PostInput): Located[] => [
  ...fileFields(input).flatMap(({ alt_texts: altTexts, at }) =>
    Object.entries(altTexts ?? {}).map(
      ([id, text]) => [`${at}/alt_texts/${pointerToken(id)}`, text] as const,
    ),
  ),
  ...mediaLists(input).flatMap(({ items, at }) =>
    items.flatMap(({ alt_text: altText }, index) =>
      typeof altText === 'string' ? [[`${at}/${index}/alt_text`, altText] as const] : [],
    ),
  ),
];

const pathsOf = (located: readonly Located[]): string => located.map(([path]) => path).join(', ');

/** @param repeated Characters that count besides. */
function assertShortEnough(texts: readonly string[], repeated = 0): void {
  const units = texts.reduce((sum, { length }) => sum + length, repeated);
  // Counts code points only when the length may exceed the limit.
  const length =
    units > longestTexts ? texts.reduce((sum, text) => sum + characterCount(text), repeated) : 0;
  if (length > longestTexts) {
    const message = `All texts and alt texts of a post together, the first text counted for each channel, may have ${longestTexts} characters; these have ${length}.`;
    throw new AppError('invalid_request', message, {
      details: [{ path: '', message, limit: longestTexts, actual: length }],
    });
  }
}
