import {
  count,
  flag,
  listOf,
  nullable,
  record,
  text,
  uuid,
  type Value,
} from '../../domain/json-schema.ts';

const length = nullable(count);

export const contentFault = record({
  message: { ...text, description: 'A sentence for people.' },
  path: {
    ...text,
    description: 'A JSON pointer into the request; empty for a problem of several fields.',
  },
  rule: {
    ...text,
    description:
      'The rule that is broken. More may be added: `text_length`, `text_missing`, `field_missing`, `file_type`, `file_count`, `file_size`, `file_pixels`, `file_dimensions`, `file_aspect_ratio`, `file_duration`, `file_frames`, `file_frame_rate`, `alt_text_length`, `channel_access`, `same_text`, `other`.',
  },
  limit: {
    ...nullable({ type: 'number' }),
    description:
      'The most or the least that the rule allows: characters or bytes of a text as `unit` says, bytes of a file, milliseconds, pixels. Null for a rule without a number.',
  },
  actual: { ...nullable({ type: 'number' }), description: 'The actual value, in the same unit.' },
});

export const validatedChannelSchema = record({
  channel_id: uuid,
  platform: text,
  handle: text,
  errors: {
    ...listOf(contentFault),
    description: 'Problems that keep the post from being scheduled.',
  },
  warnings: {
    ...listOf(contentFault),
    description: 'Parts of the post that may look different from what was sent.',
  },
  price_usd: {
    ...nullable({ type: 'number' }),
    description:
      'The price that the network charges the app that publishes for this post, in US dollars, as the operator set it. Null while there are errors.',
  },
  length: {
    ...length,
    description: 'The length of the text that is closest to its limit; null without text.',
  },
  limit: { ...length, description: 'Its limit; null without text.' },
  unit: { ...nullable(text), description: 'The counted unit, such as characters or bytes.' },
  texts: {
    ...listOf(
      record({
        length: { ...count, description: 'The length of the text.' },
        limit: { ...count, description: 'The most that it may have.' },
        unit: { ...text, description: 'The counted unit.' },
      }),
    ),
    description: 'Every text of the channel.',
  },
});

export const validatedSchema = record({
  valid: { ...flag, description: 'Whether no channel has an error.' },
  warning: {
    ...nullable(text),
    description:
      'A warning about the request as a whole, which the post would have in its `warning`.',
  },
  channels: listOf(validatedChannelSchema),
});
export type Validated = Value<typeof validatedSchema>;
