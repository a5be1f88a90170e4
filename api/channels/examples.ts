import { ids } from '../openapi/example-of.ts';

/** For the examples of posts. */
export const mastodonChannel = {
  id: ids.channel,
  platform: 'mastodon',
  handle: '@ana@social.example',
} as const;

export const blueskyChannel = {
  id: '0192f0a2-1d4b-7e90-a6c8-5b3f7d2e9a14',
  platform: 'bluesky',
  handle: 'ana.example.com',
} as const;
