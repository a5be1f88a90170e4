import { blueskyChannel, mastodonChannel } from '../channels/examples.ts';
import type { Examples } from '../http/route.ts';
import { scheduledPost, text } from './examples.ts';

export const newPosts: Examples = {
  draft: { summary: 'A draft', value: { body: text } },
  scheduled: {
    summary: 'A post at a time, on two channels',
    value: {
      body: text,
      channel_ids: [mastodonChannel.id, blueskyChannel.id],
      scheduled_at: '2027-03-01T10:00:00+01:00',
    },
  },
  thread: {
    summary: 'A thread in half an hour, safe to send again',
    value: {
      thread: ['Three things we learnt on tour.', 'First: bring earplugs.', 'Then: bring more.'],
      channel_ids: [mastodonChannel.id],
      schedule_in_minutes: 30,
      idempotency_key: 'tour-thread-1',
    },
  },
  perChannel: {
    summary: 'Another text for one of the channels',
    value: {
      body: text,
      channel_ids: [mastodonChannel.id, blueskyChannel.id],
      channel_bodies: { [blueskyChannel.id]: 'New album. Today. Here.' },
      schedule_in_minutes: 0,
    },
  },
};

const { id, body, thread, scheduled_at, published_at, created_at, status } = scheduledPost;
export const page = {
  summary: 'One post, and no more after it',
  value: {
    posts: [
      {
        id,
        body,
        thread,
        body_truncated: false,
        scheduled_at,
        published_at,
        created_at,
        status,
        post_targets: [
          { channel_id: mastodonChannel.id, status },
          { channel_id: blueskyChannel.id, status },
        ],
      },
    ],
    next_cursor: null,
  },
};

export const edits: Examples = {
  reschedule: {
    summary: 'Another time; the rest stays',
    value: { scheduled_at: '2027-03-02T09:00:00Z' },
  },
  unschedule: { summary: 'Back to a draft', value: { scheduled_at: null } },
  text: { summary: 'Another text', value: { body: 'The new album is out now.' } },
};

export const postsToValidate: Examples = {
  text: {
    summary: 'A post for one channel',
    value: { body: text, channel_ids: [mastodonChannel.id] },
  },
};

export const cancelled = {
  summary: 'One channel was being sent',
  value: { ok: true, id: scheduledPost.id, still_sending: 1 },
};

export const retrying = {
  summary: 'One channel had failed',
  value: { id: scheduledPost.id, retrying: [blueskyChannel.id] },
};

export const settlements: Examples = {
  live: {
    summary: 'It is there',
    value: {
      channel_id: mastodonChannel.id,
      url: 'https://social.example/@ana/114090312345678901',
    },
  },
  absent: { summary: 'It is not there', value: { channel_id: mastodonChannel.id, url: null } },
};

const { length } = text;
export const validations: Examples = {
  fits: {
    summary: 'A channel that would take it',
    value: {
      valid: true,
      channels: [
        {
          channel_id: mastodonChannel.id,
          platform: mastodonChannel.platform,
          handle: mastodonChannel.handle,
          errors: [],
          warnings: [],
          length,
          limit: 500,
          unit: 'characters',
          texts: [{ length, limit: 500, unit: 'characters' }],
        },
      ],
    },
  },
};
