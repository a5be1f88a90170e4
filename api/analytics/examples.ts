import { blueskyChannel, mastodonChannel } from '../channels/examples.ts';
import type { Examples } from '../http/route.ts';

const noSums = { impressions: null, likes: 0, comments: 0, shares: 0, saves: 0, engagement: 0 };
const sums = { impressions: null, likes: 41, comments: 6, shares: 9, saves: 0, engagement: 56 };

export const posts: Examples = {
  month: {
    summary: 'A month with one post, on two networks that report no views',
    value: {
      from: '2027-02-15',
      to: '2027-03-16',
      totals: { posts: 1, posts_without_metrics: 0, ...sums },
      posts: [
        {
          post_id: '0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d',
          body: 'The new album is out today.',
          thread: null,
          body_truncated: false,
          published_at: '2027-03-01T09:00:00.731Z',
          channels: [
            {
              channel_id: mastodonChannel.id,
              platform: mastodonChannel.platform,
              handle: mastodonChannel.handle,
              url: 'https://social.example/@ana/114090312345678901',
              metrics: { likes: 12, comments: 2, shares: 5 },
              metrics_updated_at: '2027-03-16T08:12:40.105Z',
              gone_at: null,
            },
            {
              channel_id: blueskyChannel.id,
              platform: blueskyChannel.platform,
              handle: blueskyChannel.handle,
              url: 'https://bsky.app/profile/ana.example.com/post/3lkq2v7xw4c2d',
              metrics: { likes: 29, comments: 4, shares: 4 },
              metrics_updated_at: '2027-03-16T08:12:41.330Z',
              gone_at: null,
            },
          ],
          totals: sums,
        },
      ],
      has_more: false,
    },
  },
  nothing: {
    summary: 'Nothing was published in these days',
    value: {
      from: '2026-01-01',
      to: '2026-01-31',
      totals: { posts: 0, posts_without_metrics: 0, ...noSums },
      posts: [],
      has_more: false,
    },
  },
};

const days = { from: '2027-02-15', to: '2027-03-16' };
const nameOf = ({ id, platform, handle }: typeof mastodonChannel | typeof blueskyChannel) => ({
  channel_id: id,
  platform,
  handle,
});

export const history: Examples = {
  growing: {
    summary: 'A post from two days ago',
    value: {
      post_id: '0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d',
      ...days,
      channels: [
        {
          ...nameOf(mastodonChannel),
          url: 'https://social.example/@ana/114090312345678901',
          gone_at: null,
          days: [
            { day: '2027-03-14', metrics: { likes: 7, comments: 1, shares: 2 } },
            { day: '2027-03-15', metrics: { likes: 12, comments: 2, shares: 5 } },
          ],
        },
      ],
    },
  },
};

export const byChannel: Examples = {
  two: {
    summary: 'Two channels, one with known followers',
    value: {
      ...days,
      channels: [
        {
          ...nameOf(mastodonChannel),
          totals: {
            posts: 3,
            posts_without_metrics: 1,
            impressions: null,
            likes: 12,
            comments: 2,
            shares: 5,
            saves: 0,
            engagement: 19,
          },
          engagement_rate: null,
          followers: 214,
          followers_updated_at: '2027-03-16T08:12:40.105Z',
        },
        {
          ...nameOf(blueskyChannel),
          totals: {
            posts: 1,
            posts_without_metrics: 0,
            impressions: null,
            likes: 29,
            comments: 4,
            shares: 4,
            saves: 0,
            engagement: 37,
          },
          engagement_rate: null,
          followers: null,
          followers_updated_at: null,
        },
      ],
    },
  },
};

export const bestTimes: Examples = {
  mornings: {
    summary: 'Two mornings of a week',
    value: {
      ...days,
      timezone: 'Europe/Berlin',
      posts_without_metrics: 1,
      times: [
        { weekday: 1, hour: 9, posts: 4, engagement: 120, average: 30 },
        { weekday: 3, hour: 10, posts: 2, engagement: 15, average: 7.5 },
      ],
    },
  },
};

const postId = '0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d';

export const refreshOne: Examples = {
  one: { summary: 'A published post', value: { post_id: postId } },
};

export const refreshed: Examples = {
  queued: {
    summary: 'One is queued, the other was just read',
    value: {
      post_id: postId,
      channels: [
        {
          channel_id: mastodonChannel.id,
          platform: mastodonChannel.platform,
          refresh: 'queued',
          next_at: '2027-03-16T08:30:00.000Z',
        },
        {
          channel_id: blueskyChannel.id,
          platform: blueskyChannel.platform,
          refresh: 'not_yet',
          next_at: '2027-03-16T08:44:41.330Z',
        },
      ],
      warning: null,
    },
  },
};
