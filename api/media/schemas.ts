import { replayedHeader } from '../http/idempotency.ts';
import { location } from '../http/route.ts';
import {
  count,
  dateTime,
  fields,
  listOf,
  nullable,
  oneOf,
  record,
  text,
  uuid,
  type Value,
} from '../../domain/json-schema.ts';
import { cursorQuery } from '../../services/cursor.ts';
import { longestAltText } from '../../services/media/file-texts.ts';
import { maxMediaPage } from '../../services/media/library.ts';
import type { Examples } from '../http/route.ts';

const pixels = { ...nullable({ type: 'integer' }), description: 'In pixels, as displayed.' };

export const mediaFileSchema = record({
  id: { ...uuid, description: 'Pass it in `media_ids` of a post.' },
  type: { ...text, description: 'MIME type, read from the bytes.' },
  url: { ...text, format: 'uri', description: 'Opens in a browser, without an API key.' },
  name: { ...text, description: 'The name of the file.' },
  size_bytes: count,
  width: pixels,
  height: pixels,
  duration_ms: {
    ...nullable({ type: 'integer' }),
    description: 'Length of a video or an animation, in milliseconds.',
  },
  alt_text: {
    ...nullable(text),
    description: 'Alt text, for people who cannot see the file; null if none.',
  },
  created_at: dateTime,
});
export type MediaView = Value<typeof mediaFileSchema>;

export const mediaAnswer = record({ media: mediaFileSchema });

export const mediaListSchema = record({
  media: listOf(mediaFileSchema),
  next_cursor: { ...nullable(text), description: 'For the next page; null at the end.' },
});

export const uploadSchema = fields(
  {
    file: {
      ...text,
      // Client generators read `format`; JSON Schema 2020-12 uses `contentMediaType`.
      format: 'binary',
      contentMediaType: 'application/octet-stream',
      description: 'JPEG, PNG, GIF, WebP, MP4, MOV or WebM, of 200 MB at most.',
    },
    name: { ...text, description: "Replaces the file's own name." },
    alt_text: {
      ...text,
      maxLength: longestAltText,
      description: 'Alt text, for people who cannot see the file.',
    },
  },
  ['file'],
);

/** Only the fields that are sent change. */
export const editMediaSchema = fields({
  alt_text: {
    ...nullable(text),
    maxLength: longestAltText,
    description:
      'Not blank; null removes it. Scheduled posts without an alt text of their own use it.',
  },
  name: { ...text, minLength: 1, maxLength: 255, description: 'Also the end of its link.' },
});

export const mediaQuery = {
  type: { description: 'Only images, or only videos.', schema: oneOf(['image', 'video']) },
  search: {
    description: 'Any part of the name, in any case.',
    schema: { ...text, maxLength: 255 },
  },
  limit: {
    description: 'The maximum number of files.',
    schema: { type: 'integer', minimum: 1, maximum: maxMediaPage, default: maxMediaPage },
  },
  cursor: cursorQuery,
} as const;

const link = 'https://punctual.example/files';

const picture: MediaView = {
  id: '0192f0c1-2b4d-7e6f-8a90-1c3d5e7f9b0a',
  type: 'image/jpeg',
  url: `${link}/q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6/harbour.jpg`,
  name: 'harbour.jpg',
  size_bytes: 482_113,
  width: 1600,
  height: 1067,
  duration_ms: null,
  alt_text: 'Fishing boats in a harbour, at dusk.',
  created_at: '2027-02-28T16:20:00.000Z',
};

const clip: MediaView = {
  id: '0192f0c3-7d1e-7a2b-9c4d-5e6f7a8b9c0d',
  type: 'video/mp4',
  url: `${link}/Z9y8X7w6V5u4T3s2R1q0P9o8N7m6L5k4/regatta.mp4`,
  name: 'regatta.mp4',
  size_bytes: 18_204_551,
  width: 1920,
  height: 1080,
  duration_ms: 24_500,
  alt_text: null,
  created_at: '2027-02-28T17:05:00.000Z',
};

export const fileList: Examples = {
  library: { summary: 'Two files', value: { media: [clip, picture], next_cursor: null } },
};

export const singleFile: Examples = {
  picture: { summary: 'A picture', value: { media: picture } },
};

export const describedFile: Examples = {
  altText: { summary: 'An alt text', value: { alt_text: picture.alt_text } },
};

export const deletedFile: Examples = {
  deleted: { summary: 'Deleted', value: { ok: true, id: picture.id } },
};

/** Answers of the calls that store one file. */
export const storedFile = {
  201: {
    description: 'The file.',
    schema: mediaAnswer,
    headers: { Location: location },
    examples: singleFile,
  },
  200: {
    description:
      'The file that this idempotency key stored within the last 24 hours, as it was then.',
    schema: mediaAnswer,
    headers: replayedHeader,
    examples: singleFile,
  },
} as const;
