import type { ChannelResult, PostView, Unpublish } from '../../domain/post-view.ts';
import { mastodonChannel } from '../channels/examples.ts';
import type { Examples } from '../http/route.ts';
import { publishedPost } from './examples.ts';

const [first, ...others] = publishedPost.channels;
const requested = {
  requested_at: '2027-03-04T12:30:00.000Z',
  error: null,
  error_code: null,
} as const;
const withFirst = (unpublish: Unpublish): PostView['channels'] => [
  {
    ...(first as ChannelResult),
    status: unpublish.status === 'removed' ? 'removed' : 'published',
    unpublish,
  },
  ...others,
];

/** Removed from one of its channels. */
export const unpublishedPost: PostView = {
  ...publishedPost,
  updated_at: '2027-03-04T12:30:01.377Z',
  channels: withFirst({ status: 'removed', ...requested }),
};

export const unpublishings: Examples = {
  everywhere: { summary: 'From all of its channels', value: {} },
  onOne: {
    summary: 'From one of its channels',
    value: { channel_ids: [mastodonChannel.id] },
  },
};

export const unpublishing = {
  summary: 'It is being removed from one of its channels',
  value: {
    post: { ...publishedPost, channels: withFirst({ status: 'pending', ...requested }) },
  },
};
