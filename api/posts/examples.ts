import type { ChannelResult, PostView } from '../../domain/post-view.ts';
import { blueskyChannel, mastodonChannel } from '../channels/examples.ts';
import type { Examples } from '../http/route.ts';

const text = 'The new album is out today.';
const file = '0192f0c1-2b4d-7e6f-8a90-1c3d5e7f9b0a';

const waiting = {
  status: 'scheduled',
  url: null,
  error: null,
  error_code: null,
  retryable: null,
  warning: null,
  retry_at: null,
  body: text,
  metrics: null,
  metrics_updated_at: null,
  gone_at: null,
  unpublish: null,
  options: {},
} as const;

const onMastodon: ChannelResult = {
  ...waiting,
  channel_id: mastodonChannel.id,
  platform: mastodonChannel.platform,
  handle: mastodonChannel.handle,
};

const onBluesky: ChannelResult = {
  ...waiting,
  channel_id: blueskyChannel.id,
  platform: blueskyChannel.platform,
  handle: blueskyChannel.handle,
};

export const scheduledPost: PostView = {
  id: '0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d',
  status: 'scheduled',
  outcome: null,
  body: text,
  thread: null,
  scheduled_at: '2027-03-01T09:00:00.000Z',
  timezone: 'Europe/Berlin',
  published_at: null,
  created_at: '2027-02-20T14:05:11.482Z',
  updated_at: '2027-02-20T14:05:11.482Z',
  channels: [onMastodon, onBluesky],
  summary: { published: 0, failed: 0, pending: 2, removed: 0 },
  media: [],
  channel_media: {},
  thread_media: null,
  video: null,
  warning: null,
  warnings: [],
  tags: ['album'],
  metadata: { campaign: 'spring' },
  external_id: 'cms-1042',
};

export const draftPost: PostView = {
  ...scheduledPost,
  status: 'draft',
  scheduled_at: null,
  channels: [],
  summary: { published: 0, failed: 0, pending: 0, removed: 0 },
};

const mastodonPublished: ChannelResult = {
  ...onMastodon,
  status: 'published',
  url: 'https://social.example/@ana/114090312345678901',
};

export const publishedPost: PostView = {
  ...scheduledPost,
  status: 'published',
  outcome: 'published',
  published_at: '2027-03-01T09:00:00.731Z',
  updated_at: '2027-03-01T09:00:01.204Z',
  channels: [
    mastodonPublished,
    {
      ...onBluesky,
      status: 'published',
      url: 'https://bsky.app/profile/ana.example.com/post/3lkq2v7xw4c2d',
    },
  ],
  summary: { published: 2, failed: 0, pending: 0, removed: 0 },
};

const blueskyFailed: ChannelResult = {
  ...onBluesky,
  status: 'failed',
  error: 'The app password was revoked.',
  error_code: 'access_lost',
  retryable: false,
};

/** A partial outcome is also `failed`; its `summary` shows the difference. */
export const partialPost: PostView = {
  ...publishedPost,
  status: 'failed',
  outcome: 'partial',
  channels: [mastodonPublished, blueskyFailed],
  summary: { published: 1, failed: 1, pending: 0, removed: 0 },
};

export const failedPost: PostView = {
  ...scheduledPost,
  status: 'failed',
  outcome: 'failed',
  updated_at: '2027-03-01T09:00:01.204Z',
  channels: [blueskyFailed],
  summary: { published: 0, failed: 1, pending: 0, removed: 0 },
};

/** The post after a retry of the channel that had failed. */
const retriedPost: PostView = {
  ...partialPost,
  status: 'publishing',
  outcome: null,
  channels: [mastodonPublished, onBluesky],
  summary: { published: 1, failed: 0, pending: 1, removed: 0 },
};

/** An unconfirmed channel, settled as not published. */
const absentPost: PostView = {
  ...failedPost,
  channels: [
    {
      ...onMastodon,
      status: 'failed',
      error: 'A person checked: the network does not have this post. A retry sends it.',
      error_code: 'not_published',
      retryable: true,
    },
  ],
};

export const draft = { summary: 'A draft', value: { post: draftPost } };
export const scheduled = { summary: 'Waiting for its time', value: { post: scheduledPost } };
export const published = { summary: 'Published on every channel', value: { post: publishedPost } };
export const partial = {
  summary: 'Published on one channel, failed on the other',
  value: { post: partialPost },
};
export const settled = { summary: 'The post was there', value: { post: publishedPost } };
export const settledAbsent = { summary: 'The post was not there', value: { post: absentPost } };

export const newPosts: Examples = {
  scheduled: {
    summary: 'A scheduled post on two channels',
    value: {
      body: text,
      channel_ids: [mastodonChannel.id, blueskyChannel.id],
      scheduled_at: '2027-03-01T10:00:00',
      timezone: 'Europe/Berlin',
      tags: ['album'],
      metadata: { campaign: 'spring' },
      external_id: 'cms-1042',
    },
  },
  draft: { summary: 'A draft', value: { body: text } },
  thread: {
    summary: 'A thread in half an hour, with an idempotency key',
    value: {
      thread: ['Three things we learnt on tour.', 'First: bring earplugs.', 'Then: bring more.'],
      channel_ids: [mastodonChannel.id],
      schedule_in_minutes: 30,
      idempotency_key: 'tour-thread-1',
    },
  },
  threadWithFiles: {
    summary: 'A thread with a picture on its second part, unlisted on one channel',
    value: {
      thread: [
        'Two things from the harbour.',
        {
          text: 'First: the boats.',
          media: [{ media_id: file, alt_text: 'Fishing boats in a harbour, at dusk.' }],
        },
      ],
      channel_ids: [mastodonChannel.id],
      channel_options: { [mastodonChannel.id]: { visibility: 'unlisted' } },
      schedule_in_minutes: 30,
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

const { id, body, thread, scheduled_at, published_at, created_at, status, tags, external_id } =
  scheduledPost;
const targetOf = ({ channel_id, platform, handle, url, error_code }: ChannelResult) => ({
  channel_id,
  status,
  platform,
  handle,
  url,
  error_code,
});
export const pageExample = {
  summary: 'One post on the last page',
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
        outcome: null,
        tags,
        external_id,
        post_targets: [targetOf(onMastodon), targetOf(onBluesky)],
      },
    ],
    next_cursor: null,
  },
};

export const editExamples: Examples = {
  reschedule: {
    summary: 'Another time, without other changes',
    value: { scheduled_at: '2027-03-02T09:00:00Z' },
  },
  unschedule: { summary: 'Back to a draft', value: { scheduled_at: null } },
  text: { summary: 'Another text', value: { body: 'The new album is out now.' } },
};

export const cancelled = {
  summary: 'One channel was being sent',
  value: { ok: true, id: scheduledPost.id, still_sending: 1, post: draftPost },
};

export const retrying = {
  summary: 'One channel had failed',
  value: { id: scheduledPost.id, retrying: [blueskyChannel.id], post: retriedPost },
};

export const settlements: Examples = {
  live: {
    summary: 'The post is there',
    value: {
      channel_id: mastodonChannel.id,
      url: 'https://social.example/@ana/114090312345678901',
    },
  },
  absent: {
    summary: 'The post is not there',
    value: { channel_id: mastodonChannel.id, url: null },
  },
};
