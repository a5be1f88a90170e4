import { linkId, mastodonChannel } from '../channels/examples.ts';

/** For the OpenAPI document. */
export const connectExamples = {
  mastodon: {
    summary: 'A Mastodon account, with a return URL',
    value: {
      platform: 'mastodon',
      url: 'https://social.example',
      return_url: 'https://app.example.com/accounts',
    },
  },
  again: {
    summary: 'A channel that needs reconnecting',
    value: { platform: 'x', channel_id: '0192f0a1-7c3e-7b52-8d4f-2a9c6e1b0f31' },
  },
} as const;

export const linkExamples = {
  link: {
    summary: 'A link',
    value: {
      id: linkId,
      link: 'https://punctual.example/connect/7Fq2LkX0aZr9WcT4sYb1NvE8uHj3MdP6',
      expires_at: '2027-01-12T08:45:00.000Z',
      platform: 'mastodon',
    },
  },
} as const;

const [platform, expires_at] = ['mastodon', '2027-01-12T08:45:00.000Z'];

export const linkStatusExamples = {
  connected: {
    summary: 'It connected an account',
    value: {
      id: linkId,
      status: 'connected',
      channel_ids: [mastodonChannel.id],
      error: null,
      error_code: null,
      platform,
      expires_at,
    },
  },
  expired: {
    summary: 'The person declined, and did not come back in time',
    value: {
      id: linkId,
      status: 'expired',
      channel_ids: [],
      error: 'The network says that you declined.',
      error_code: 'denied',
      platform,
      expires_at,
    },
  },
};
