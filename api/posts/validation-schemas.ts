import {
  count,
  dateTime,
  flag,
  listOf,
  nullable,
  record,
  text,
  uuid,
  type Value,
} from '../../domain/json-schema.ts';
import { contentFault, postWarning } from '../../domain/warnings.ts';
import { blueskyChannel, mastodonChannel } from '../channels/examples.ts';
import type { Examples } from '../http/route.ts';

const length = nullable(count);

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
  warnings: {
    ...listOf(postWarning),
    description:
      'All warnings. The post would have the first 100 of them in its `warnings`, and 20 of each channel; the last says how many are left out.',
  },
  scheduled_at: {
    ...nullable(dateTime),
    description: 'When the post would be due, in UTC; null for a draft.',
  },
  channels: listOf(validatedChannelSchema),
});
export type Validated = Value<typeof validatedSchema>;

const validText = 'The new album is out today.';

export const postsToValidate: Examples = {
  text: {
    summary: 'A post for one channel',
    value: { body: validText, channel_ids: [mastodonChannel.id] },
  },
};

const { length: validLength } = validText;
export const validations: Examples = {
  fits: {
    summary: 'A channel that accepts it',
    value: {
      valid: true,
      warning: null,
      warnings: [],
      scheduled_at: null,
      channels: [
        {
          channel_id: mastodonChannel.id,
          platform: mastodonChannel.platform,
          handle: mastodonChannel.handle,
          errors: [],
          warnings: [],
          price_usd: 0,
          length: validLength,
          limit: 500,
          unit: 'characters',
          texts: [{ length: validLength, limit: 500, unit: 'characters' }],
        },
      ],
    },
  },
  refuses: {
    summary: 'A channel that refuses it',
    value: {
      valid: false,
      warning: null,
      warnings: [],
      scheduled_at: null,
      channels: [
        {
          channel_id: blueskyChannel.id,
          platform: blueskyChannel.platform,
          handle: blueskyChannel.handle,
          errors: [
            {
              message:
                'The text is too long for Bluesky: it takes 300 characters, and this is 312.',
              path: '/body',
              rule: 'text_length',
              limit: 300,
              actual: 312,
            },
          ],
          warnings: [],
          price_usd: null,
          length: 312,
          limit: 300,
          unit: 'graphemes',
          texts: [{ length: 312, limit: 300, unit: 'graphemes' }],
        },
      ],
    },
  },
};
