import {
  anything,
  count,
  listOf,
  mapOf,
  mayHave,
  type Json,
  type Value,
} from '../../domain/json-schema.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf } from '../answer.ts';
import type { Access } from '../client.ts';
import { get, type MastodonAnswer } from './client.ts';

const positive = { type: 'integer', minimum: 1 } as const;

/** Some servers send an empty list, which says nothing. The bounds keep a hostile server's response small. */
const types = {
  ...listOf({ type: 'string', pattern: '^(?:image|video)/[\\x21-\\x7e]+$', maxLength: 100 }, 200),
  minItems: 1,
};

const schemas = {
  /** In characters, as the server counts them. */
  maxCharacters: positive,
  charactersReservedPerUrl: { type: 'integer', minimum: 0, maximum: 10_000 },
  maxMediaAttachments: count,
  mediaTypes: types,
  maxImageBytes: positive,
  maxImagePixels: positive,
  maxVideoBytes: positive,
  maxVideoPixels: positive,
  maxVideoFrameRate: positive,
  maxDescription: positive,
} as const;
const settingsSchema = mayHave(schemas);
export type MastodonSettings = Required<Value<typeof settingsSchema>>;

/** Mastodon's own limits, since version 4.3. */
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

const read = answerReader(settingsSchema);

export const mastodonSettings = (settings: Json): MastodonSettings => ({
  ...defaults,
  ...read(settings),
});

/** Reads a server's public limits. Limits that it does not report are absent. */
export async function readLimits(http: Egress, baseUrl: string): Promise<Record<string, Json>> {
  const { response, instance } = await instanceOf({ http, baseUrl, credentials: null }, true);
  if (response.status !== 200) {
    throw response.refusal();
  }

  return { ...settingsOf(instance) };
}

/**
 * Reads a server's description, by version 1 of the call where version 2 does not exist (Mastodon before 4.0, older
 * Pleroma).
 */
export async function instanceOf(
  access: Access,
  isPublic = false,
): Promise<{ readonly response: MastodonAnswer; readonly instance: Instance }> {
  const newer = await get(access, '/api/v2/instance', 'prepare', { isPublic });
  if (newer.status === 200) {
    return { response: newer, instance: readInstance(jsonOf(newer)) ?? {} };
  }

  const older = await get(access, '/api/v1/instance', 'prepare', { isPublic });
  const isRead = older.status === 200;
  return { response: older, instance: (isRead && readOldInstance(jsonOf(older))) || {} };
}

/** The limits are checked one by one, so that an invalid one does not hide the others. */
const limitsSchema = mayHave({ statuses: mapOf(anything), media_attachments: mapOf(anything) });

const instanceSchema = mayHave({ domain: anything, configuration: limitsSchema });

type Instance = Value<typeof instanceSchema>;

/** Reads `GET /api/v1/instance`, in which servers such as Pleroma and Akkoma have limits in members of their own. */
const readFirstVersion = answerReader(
  mayHave({
    configuration: limitsSchema,
    max_toot_chars: anything,
    max_media_attachments: anything,
    description_limit: anything,
    upload_limit: anything,
  }),
);

/** Reads `/api/v1/instance` into the form of version 2. Omits its `uri`, which may be a whole URL. */
function readOldInstance(value: unknown): Instance | null {
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

const readInstance = answerReader(instanceSchema);

const names = Object.keys(schemas) as (keyof MastodonSettings)[];
const readers = names.map((name) => ({ name, read: answerReader<Json>(schemas[name]) }));

export function settingsOf({ configuration }: Instance): Partial<MastodonSettings> {
  const { statuses, media_attachments: media } = configuration ?? {};
  const reported: Record<keyof MastodonSettings, unknown> = {
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
      const value = readOne(reported[name]);
      return value === null ? [] : [[name, value]];
    }),
  );
}

/** Keeps images and videos. Servers accept audio too, which Punctual does not support. */
const typesOf = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.filter(
        (type) => typeof type === 'string' && /^(?:image|video)\/[\x21-\x7e]+$/.test(type),
      )
    : undefined;
