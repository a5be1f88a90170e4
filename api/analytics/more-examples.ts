import { blueskyChannel, mastodonChannel } from '../channels/examples.ts';
import type { Examples } from '../http/route.ts';

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
