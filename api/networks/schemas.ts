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
  description: 'Length of a video or an animation, in milliseconds; null: no limit is known.',
};

export const textLimitSchema = record({
  unit: { ...oneOf(['characters', 'graphemes', 'bytes']), description: 'What is counted.' },
  limit: { ...count, description: 'The most that a text may have.' },
  link_length: {
    ...nullable(count),
    description: 'The length that every link counts as; null: its actual length.',
  },
  counting: { ...text, description: 'How it is counted, as a sentence.' },
});

export const fileKindSchema = record({
  kind: { ...text, description: 'Such as `image`.' },
  types: {
    ...listOf(text),
    description: 'MIME types, limited to those that `POST /media` accepts.',
  },
  min_count: { ...count, description: 'The minimum number of files.' },
  max_count: { ...count, description: 'The maximum number per post, or per part of a thread.' },
  min_bytes: bytes,
  max_bytes: { ...count, description: 'In bytes; never more than `POST /media` accepts.' },
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
    description: 'In UTF-16 code units; 0: alt text is not supported; null: no limit is known.',
  },
});

const connectFieldSchema = record({
  name: { ...text, description: 'The field’s name in `POST /channels/connect`.' },
  label: { ...text, description: 'Shown to people.' },
  placeholder: { ...text, description: 'An example, shown in an empty field.' },
  required: { ...flag, description: 'Whether it cannot be left out.' },
});

export const networkSchema = record({
  platform: { ...text, examples: ['mastodon'] },
  threads: {
    ...flag,
    description:
      'Whether threads are supported. If not, the texts of a thread are published as one post, separated by blank lines.',
  },
  first_comment: {
    ...flag,
    description: 'Whether the option `first_comment` puts a comment below the post.',
  },
  can_unpublish: {
    ...flag,
    description: 'Whether `POST /posts/{id}/unpublish` can remove posts from it.',
  },
  texts: { ...listOf(textLimitSchema), description: 'All of them apply to every text.' },
  files: {
    ...listOf(fileKindSchema),
    description:
      'The kinds of files that a post, or a part of a thread, may have. Two kinds cannot be combined.',
  },
  required: {
    ...listOf(text),
    description: 'Required fields in addition to a text or a file, such as `video.made_for_kids`.',
  },
  connect: {
    ...orNull(
      record({
        configured: {
          ...flag,
          description: 'Whether the operator has configured the network.',
        },
        fields: {
          ...listOf(connectFieldSchema),
          description: 'Required input; the page of the link asks for missing values.',
        },
      }),
    ),
    description:
      'How `POST /channels/connect` connects accounts; null: only the operator can connect them.',
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
