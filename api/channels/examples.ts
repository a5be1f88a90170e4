/** For the OpenAPI document. */
export const mastodonChannel = {
  id: '0192f0a1-7c3e-7b52-8d4f-2a9c6e1b0f31',
  platform: 'mastodon',
  handle: '@ana@social.example',
  display_name: 'Ana',
  profile_url: 'https://social.example/@ana',
  server: 'social.example',
  sandbox: false,
  state: 'connected',
  error: null,
  expires_at: null,
  options: { visibility: 'unlisted' },
  created_at: '2027-01-12T08:30:00.000Z',
};

const { id, platform, handle } = mastodonChannel;

/** As in the event. */
export const disconnected = {
  channel: { id, platform, handle },
  scheduled_posts: 12,
};

export const blueskyChannel = {
  id: '0192f0a2-1d4b-7e90-a6c8-5b3f7d2e9a14',
  platform: 'bluesky',
  handle: 'ana.example.com',
  display_name: null,
  profile_url: 'https://bsky.app/profile/did:plc:ewvi7nxzyoun6zhxrhs64oiz',
  server: 'pds.example.com',
  sandbox: false,
  state: 'needs_reconnect',
  error: 'The app password was revoked.',
  expires_at: null,
  options: {},
  created_at: '2027-01-12T08:31:00.000Z',
};

const checked_at = '2026-05-01T09:00:00.000Z';

export const checks = {
  connected: {
    summary: 'It is connected',
    value: { channel: mastodonChannel, access: 'connected', reason: null, checked_at },
  },
  lost: {
    summary: 'It has to be connected again',
    value: {
      channel: blueskyChannel,
      access: 'needs_reconnect',
      reason: 'The app password was revoked. Connect the channel again.',
      checked_at,
    },
  },
};

export const reconnects = {
  look: { summary: 'Which posts there are', value: {} },
  retry: { summary: 'Send them again', value: { retry_posts: true } },
};

const postId = '0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d';
const link = 'https://punctual.example/connect/7Fq2LkX0aZr9WcT4sYb1NvE8uHj3MdP6';
export const linkId = '0192f0e9-3c5d-7a1f-8e2b-4d6f8a0c2e41';
const failed_posts = { count: 1, post_ids: [postId] };

export const reconnections = {
  lost: {
    summary: 'The account is to be connected again first',
    value: { channel: blueskyChannel, link, link_id: linkId, failed_posts, retrying: [] },
  },
  retrying: {
    summary: 'A post is sent again',
    value: {
      channel: mastodonChannel,
      link: null,
      link_id: null,
      failed_posts,
      retrying: [postId],
    },
  },
};
