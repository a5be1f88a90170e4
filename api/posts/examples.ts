import { postSchema, type ChannelResult, type PostView } from '../../domain/post-view.ts';
import { outcomeOf, summarize, type PostStatus } from '../../domain/statuses.ts';
import type { Examples } from '../http/route.ts';
import { blueskyChannel, mastodonChannel, exampleOf, ids } from '../openapi/example-of.ts';

const sample = exampleOf(postSchema, 'post') as PostView;
const [channel] = sample.channels as [ChannelResult];

export function examplePost(
  status: PostStatus,
  ...given: readonly Partial<ChannelResult>[]
): PostView {
  const channels = given.map((own): ChannelResult =>
    Object.assign({}, channel, { url: own.status === 'published' ? channel.url : null }, own),
  );
  const statuses = channels.map((one) => one.status);
  const summary = summarize(statuses);
  return {
    ...sample,
    status,
    outcome: outcomeOf(status, statuses),
    scheduled_at: status === 'draft' ? null : sample.scheduled_at,
    published_at: summary.published > 0 ? sample.published_at : null,
    channels,
    summary,
  };
}

export const scheduled = {
  summary: 'Waiting for its time',
  value: { post: examplePost('scheduled', { status: 'scheduled' }) },
};
export const draft = { summary: 'A draft', value: { post: examplePost('draft') } };

const text = 'The new album is out today.';

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
    summary: 'A thread with a picture, unlisted on one channel, in half an hour',
    value: {
      thread: [
        'Two things from the harbour.',
        {
          text: 'First: the boats.',
          media: [{ media_id: ids.media, alt_text: 'Fishing boats in a harbour, at dusk.' }],
        },
      ],
      channel_ids: [mastodonChannel.id],
      channel_options: { [mastodonChannel.id]: { visibility: 'unlisted' } },
      schedule_in_minutes: 30,
      idempotency_key: 'harbour-thread-1',
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
