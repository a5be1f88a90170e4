import test from 'ava';
import { finalEventType, type EventType } from '../../domain/events.ts';
import {
  channelStatuses,
  isFinal,
  statusOfBegunPost,
  summarize,
  type ChannelStatus,
  type PostStatus,
} from '../../domain/post-status.ts';

type Outcome = readonly [ChannelStatus[], PostStatus, EventType | null];

const outcomes: Outcome[] = [
  [['published'], 'published', 'post.published'],
  [['published', 'published'], 'published', 'post.published'],
  [['failed'], 'failed', 'post.failed'],
  [['unconfirmed'], 'failed', 'post.failed'],
  [['failed', 'unconfirmed'], 'failed', 'post.failed'],
  [['published', 'failed'], 'failed', 'post.partial'],
  [['unconfirmed', 'published'], 'failed', 'post.partial'],
  [['published', 'failed', 'unconfirmed'], 'failed', 'post.partial'],
  [['published', 'publishing'], 'publishing', null],
  [['failed', 'retrying'], 'publishing', null],
  [['published', 'scheduled'], 'publishing', null],
  [['published', 'failed', 'draft'], 'publishing', null],
];

test('a post’s status and its one final event follow from its channels', (t) => {
  for (const [channels, status, event] of outcomes) {
    t.is(statusOfBegunPost(channels), status, channels.join());
    t.is(finalEventType(channels), event, channels.join());
    t.is(finalEventType(channels.toReversed()), event, channels.join());
  }
});

test('a post without channels has no final event', (t) => {
  t.is(finalEventType([]), null);
});

test('a post ends when each channel is published, failed or unconfirmed, and not before', (t) => {
  t.deepEqual(channelStatuses.filter(isFinal), ['published', 'failed', 'unconfirmed']);
  for (const status of channelStatuses) {
    t.is(finalEventType([status]) !== null, isFinal(status), status);
    t.is(finalEventType([status, 'published']) !== null, isFinal(status), status);
  }
});

test('the summary counts every channel once: an unconfirmed one as failed, an open one as pending', (t) => {
  t.deepEqual(summarize([]), { published: 0, failed: 0, pending: 0 });
  t.deepEqual(summarize(channelStatuses), { published: 1, failed: 2, pending: 4 });
});
