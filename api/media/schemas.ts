import { answersOnce } from '../http/idempotency.ts';
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
import { pageQuery } from '../../services/cursor.ts';
import { longestAltText } from '../../services/media/file-texts.ts';
import { maxMediaPage } from '../../services/media/library.ts';

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

const altText = {
  ...text,
  maxLength: longestAltText,
  description: 'Alt text, for people who cannot see the file.',
} as const;

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
    alt_text: altText,
  },
  ['file'],
);

export const importSchema = fields(
  {
    url: { ...text, description: 'A public https link to an image or a video of at most 200 MB.' },
    name: { ...text, description: 'Replaces the name in the URL.' },
    alt_text: altText,
  },
  ['url'],
);

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
  ...pageQuery('files', maxMediaPage),
} as const;

export const storedFile = answersOnce(
  mediaAnswer,
  'The file.',
  'The file that this idempotency key stored within the last 24 hours, as it was then.',
  { Location: location },
);
