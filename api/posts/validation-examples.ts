import { blueskyChannel, mastodonChannel } from '../channels/examples.ts';
import type { Examples } from '../http/route.ts';

const text = 'The new album is out today.';

export const postsToValidate: Examples = {
  text: {
    summary: 'A post for one channel',
    value: { body: text, channel_ids: [mastodonChannel.id] },
  },
};

const { length } = text;
export const validations: Examples = {
  fits: {
    summary: 'A channel that accepts it',
    value: {
      valid: true,
      warning: null,
      channels: [
        {
          channel_id: mastodonChannel.id,
          platform: mastodonChannel.platform,
          handle: mastodonChannel.handle,
          errors: [],
          warnings: [],
          price_usd: 0,
          length,
          limit: 500,
          unit: 'characters',
          texts: [{ length, limit: 500, unit: 'characters' }],
        },
      ],
    },
  },
  refuses: {
    summary: 'A channel that refuses it',
    value: {
      valid: false,
      warning: null,
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
