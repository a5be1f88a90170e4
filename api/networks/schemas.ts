import {
  anyFields,
  count,
  flag,
  listOf,
  nullable,
  oneOf,
  orNull,
  record,
  text,
  type Value,
} from '../../domain/json-schema.ts';

const bytes = { ...nullable(count), description: 'In bytes; null: no limit is known.' };
const side = { ...nullable(count), description: 'In pixels; null: no limit is known.' };
const milliseconds = {
  ...nullable(count),
  description: 'Of a video or an animation, in milliseconds; null: no limit is known.',
};

export const textLimitSchema = record({
  unit: oneOf(['characters', 'graphemes', 'bytes']),
  limit: count,
  link_length: {
    ...nullable(count),
    description: 'What a link counts, however long it is; null: as it is written.',
  },
  counting: { ...text, description: 'How it is counted, as a sentence.' },
});

export const fileKindSchema = record({
  kind: { ...text, description: 'Such as `image`.' },
  types: {
    ...listOf(text),
    description: 'MIME types. Only files are told of that `POST /media` takes.',
  },
  min_count: { ...count, description: 'Fewer are refused.' },
  max_count: { ...count, description: 'Of a post, or of a part of a thread.' },
  min_bytes: bytes,
  max_bytes: { ...count, description: 'In bytes; never more than `POST /media` takes.' },
  max_pixels: { ...nullable(count), description: 'Width times height; null: no limit is known.' },
  min_side: side,
  max_longer_side: side,
  max_shorter_side: side,
  max_aspect_ratio: {
    ...nullable({ type: 'number' }),
    description: 'The longer side by the shorter one; null: no limit is known.',
  },
  max_frames: {
    ...nullable(count),
    description: 'Frames of an animation; null: no limit is known.',
  },
  max_pixels_of_all_frames: {
    ...nullable(count),
    description: 'Width times height times frames of an animation; null: no limit is known.',
  },
  max_frame_rate: {
    ...nullable({ type: 'number' }),
    description: 'Frames per second of a video; null: no limit is known.',
  },
  min_duration_ms: milliseconds,
  max_duration_ms: milliseconds,
  max_alt_text: {
    ...nullable(count),
    description: 'In UTF-16 code units; 0: it takes none; null: no limit is known.',
  },
});

const connectFieldSchema = record({
  name: { ...text, description: 'In `POST /channels/connect`.' },
  label: { ...text, description: 'For people.' },
  placeholder: text,
  required: flag,
});

export const networkSchema = record({
  platform: { ...text, examples: ['mastodon'] },
  threads: {
    ...flag,
    description: 'Where not, the texts of a thread go out as one post, with blank lines between.',
  },
  first_comment: {
    ...flag,
    description: 'Whether the option `first_comment` puts a comment below the post.',
  },
  texts: { ...listOf(textLimitSchema), description: 'Each holds for every text.' },
  files: {
    ...listOf(fileKindSchema),
    description: 'What a post, or a part of a thread, may have files of. Two kinds do not mix.',
  },
  required: {
    ...listOf(text),
    description: 'What a post needs there beside a text or a file: `video.made_for_kids`.',
  },
  connect: {
    ...orNull(
      record({
        configured: {
          ...flag,
          description: 'Whether the operator has set what the network needs for it.',
        },
        fields: {
          ...listOf(connectFieldSchema),
          description: 'What has to be known beforehand; the page of the link asks for it too.',
        },
      }),
    ),
    description:
      'How accounts are connected by `POST /channels/connect`; null: the operator connects them.',
  },
  options: {
    ...anyFields,
    description: 'JSON Schema of `channel_options` for its channels, and of their defaults.',
  },
});
export type NetworkView = Value<typeof networkSchema>;

export const networksAnswer = record({ networks: listOf(networkSchema) });

export const networksQuery = {
  channel_id: {
    description: 'Only the network of this channel, with the limits of the account’s own server.',
    schema: { ...text, maxLength: 100 },
  },
} as const;
