import test from 'ava';
import { viewPost, type ChannelFacts, type PostFacts } from '../../domain/post-view.ts';

const at = new Date('2026-05-01T10:00:00.007Z');

const post: PostFacts = {
  id: 'p',
  status: 'draft',
  body: null,
  thread: null,
  scheduledAt: null,
  createdAt: at,
  updatedAt: at,
  publishedAt: null,
  video: null,
  warning: null,
  media: [],
};

const channel: ChannelFacts = {
  channelId: 'c',
  status: 'draft',
  platform: 'mastodon',
  handle: '@a@b',
  body: null,
  sentText: null,
  url: null,
  error: null,
  errorCode: null,
  warning: null,
  retryAt: null,
  metrics: null,
};

test('a channel shows the text that it gets: its own, else the thread’s first part, else the body', (t) => {
  const shown = (facts: Partial<PostFacts>, own: string | null): string | null | undefined =>
    viewPost({ ...post, ...facts }, [{ ...channel, body: own }]).channels[0]?.body;

  t.is(shown({ body: 'body', thread: ['one', 'two'] }, 'own'), 'own');
  t.is(shown({ body: 'body', thread: ['one', 'two'] }, null), 'one');
  t.is(shown({ body: 'body' }, null), 'body');
  t.is(shown({}, 'own'), 'own');
  t.is(shown({}, null), null);
});

test('a network without threads shows the texts as the one post that it gets', (t) => {
  const facts = { ...post, thread: ['one', 'two'] };
  const [result] = viewPost(facts, [{ ...channel, platform: 'linkedin' }]).channels;
  t.is(result?.body, 'one\n\ntwo');
});

test('a published channel goes on showing the text that went out, whatever the post says later', (t) => {
  const [result] = viewPost({ ...post, body: 'edited since' }, [
    { ...channel, status: 'published', sentText: 'as it went out' },
  ]).channels;
  t.is(result?.body, 'as it went out');
});

test('a post links to its files', (t) => {
  const media = [{ url: 'https://punctual.example/files/abc/cat.png', type: 'image/png' }];
  t.deepEqual(viewPost({ ...post, media }, []).media, media);
});

test('times go out in UTC with milliseconds, and what is not there is null', (t) => {
  const view = viewPost({ ...post, scheduledAt: at, publishedAt: at }, [
    { ...channel, retryAt: at },
  ]);
  const iso = '2026-05-01T10:00:00.007Z';
  t.like(view, { scheduled_at: iso, published_at: iso, created_at: iso, updated_at: iso });
  t.is(view.channels[0]?.retry_at, iso);
  t.false(Object.values(viewPost(post, [channel])).includes(undefined as never));
});
