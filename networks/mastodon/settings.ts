import { answerReader } from '../answer.ts';
import type { Json } from '../../domain/json-schema.ts';

/** What a server said last of its limits. */
export type MastodonSettings = {
  /** In characters as the server counts them. */
  readonly maxCharacters: number;
  /** What every link counts, whatever its length. */
  readonly charactersReservedPerUrl: number;
  /** Images of one post. */
  readonly maxMediaAttachments: number;
  /** MIME types of images and videos that the server takes. */
  readonly mediaTypes: readonly string[];
  readonly maxImageBytes: number;
  /** Width times height. */
  readonly maxImagePixels: number;
  readonly maxVideoBytes: number;
  /** Width times height. */
  readonly maxVideoPixels: number;
  /** Frames per second. */
  readonly maxVideoFrameRate: number;
  /** Of an image's or a video's description, in characters. */
  readonly maxDescription: number;
};

/** Of Mastodon itself, which has raised some over time: these are those since version 4.3. */
const defaults: MastodonSettings = {
  maxCharacters: 500,
  charactersReservedPerUrl: 23,
  maxMediaAttachments: 4,
  mediaTypes: [
    'image/jpeg',
    'image/png',
    'image/gif',
    'image/webp',
    'image/avif',
    'image/heic',
    'image/heif',
    'video/mp4',
    'video/quicktime',
    'video/webm',
    'video/ogg',
  ],
  maxImageBytes: 16 * 1024 * 1024,
  maxImagePixels: 7680 * 4320,
  maxVideoBytes: 99 * 1024 * 1024,
  maxVideoPixels: 3840 * 2160,
  maxVideoFrameRate: 120,
  maxDescription: 1500,
};

const positive = { type: 'integer', minimum: 1 };
/** An empty list is that of a server that does not tell. The bounds keep a hostile server's answer small. */
const types = {
  type: 'array',
  minItems: 1,
  maxItems: 200,
  items: { type: 'string', pattern: '^(?:image|video)/[\\x21-\\x7e]+$', maxLength: 100 },
};

const schemas: Record<keyof MastodonSettings, object> = {
  maxCharacters: positive,
  charactersReservedPerUrl: { type: 'integer', minimum: 0, maximum: 10_000 },
  maxMediaAttachments: { type: 'integer', minimum: 0 },
  mediaTypes: types,
  maxImageBytes: positive,
  maxImagePixels: positive,
  maxVideoBytes: positive,
  maxVideoPixels: positive,
  maxVideoFrameRate: positive,
  maxDescription: positive,
};

const read = answerReader<Partial<MastodonSettings>>({ type: 'object', properties: schemas });

/** The settings of a channel; a channel without them, or with others, has Mastodon's defaults. */
export const mastodonSettings = (settings: Json): MastodonSettings => ({
  ...defaults,
  ...read(settings),
});

/** Its limits stay unread here: a server that gets one of them wrong still has the others. */
export type Instance = {
  readonly domain?: string;
  readonly configuration?: {
    readonly statuses?: Readonly<Record<string, unknown>>;
    readonly media_attachments?: Readonly<Record<string, unknown>>;
  };
};

/** Of `GET /api/v1/instance`, where servers such as Pleroma and Akkoma tell their limits in members of their own. */
const readFirstVersion = answerReader<
  Instance & {
    readonly max_toot_chars?: unknown;
    readonly max_media_attachments?: unknown;
    readonly description_limit?: unknown;
    readonly upload_limit?: unknown;
  }
>({
  type: 'object',
  properties: {
    configuration: {
      type: 'object',
      properties: { statuses: { type: 'object' }, media_attachments: { type: 'object' } },
    },
  },
});

/** The answer of `/api/v1/instance`, in the form of version 2. Its `uri` is left out: it may be a whole address. */
export function readOldInstance(value: unknown): Instance | null {
  const old = readFirstVersion(value);
  if (old === null) {
    return null;
  }

  const own = {
    statuses: {
      max_characters: old.max_toot_chars,
      max_media_attachments: old.max_media_attachments,
    },
    media_attachments: {
      description_limit: old.description_limit,
      image_size_limit: old.upload_limit,
      video_size_limit: old.upload_limit,
    },
  };
  return {
    configuration: {
      statuses: { ...own.statuses, ...old.configuration?.statuses },
      media_attachments: { ...own.media_attachments, ...old.configuration?.media_attachments },
    },
  };
}

/** Of `GET /api/v2/instance`. */
export const readInstance = answerReader<Instance>({
  type: 'object',
  properties: {
    domain: { type: 'string', minLength: 1, maxLength: 255 },
    configuration: {
      type: 'object',
      properties: { statuses: { type: 'object' }, media_attachments: { type: 'object' } },
    },
  },
});

const names = Object.keys(schemas) as (keyof MastodonSettings)[];
const readers = names.map((name) => ({ name, read: answerReader<Json>(schemas[name]) }));

/** What a server tells of its limits. One that it does not tell, or tells wrong, is left out. */
export function settingsOf({ configuration }: Instance): Partial<MastodonSettings> {
  const { statuses, media_attachments: media } = configuration ?? {};
  const told: Record<keyof MastodonSettings, unknown> = {
    maxCharacters: statuses?.['max_characters'],
    charactersReservedPerUrl: statuses?.['characters_reserved_per_url'],
    maxMediaAttachments: statuses?.['max_media_attachments'],
    mediaTypes: typesOf(media?.['supported_mime_types']),
    maxImageBytes: media?.['image_size_limit'],
    maxImagePixels: media?.['image_matrix_limit'],
    maxVideoBytes: media?.['video_size_limit'],
    maxVideoPixels: media?.['video_matrix_limit'],
    maxVideoFrameRate: media?.['video_frame_rate_limit'],
    maxDescription: media?.['description_limit'],
  };
  return Object.fromEntries(
    readers.flatMap(({ name, read: readOne }) => {
      const value = readOne(told[name]);
      return value === null ? [] : [[name, value]];
    }),
  );
}

/** Images and videos: servers take sound too, and we have none. */
const typesOf = (told: unknown): unknown =>
  Array.isArray(told)
    ? told.filter(
        (type) => typeof type === 'string' && /^(?:image|video)\/[\x21-\x7e]+$/.test(type),
      )
    : undefined;
