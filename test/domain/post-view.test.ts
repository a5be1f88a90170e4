import test from 'ava';
import { viewPost, type ChannelFacts, type PostFacts } from '../../domain/post-view.ts';

const at = new Date('2026-05-01T10:00:00.007Z');

const post: PostFacts = {
  id: 'p',
  status: 'draft',
  body: null,
  thread: null,
  scheduled_at: null,
  timezone: null,
  created_at: at,
  updated_at: at,
  published_at: null,
  video: null,
  warning: null,
  warnings: null,
  tags: [],
  metadata: {},
  external_id: null,
  media: [],
};

const channel: ChannelFacts = {
  channel_id: 'c',
  status: 'draft',
  platform: 'mastodon',
  threads: true,
  handle: '@a@b',
  body: null,
  sent_text: null,
  sent_warning: null,
  options: {},
  url: null,
  error: null,
  error_code: null,
  warning: null,
  warnings: null,
  retry_at: null,
  metrics: null,
  metrics_updated_at: null,
  gone_at: null,
  unpublish: null,
  live: null,
  media: null,
};

test('a channel shows its own text, or else the thread’s first part, or else the body', (t) => {
  const shown = (facts: Partial<PostFacts>, own: string | null): string | null | undefined =>
    viewPost({ ...post, ...facts }, [{ ...channel, body: own }]).channels[0]?.body;

  t.is(shown({ body: 'body', thread: ['one', 'two'] }, 'own'), 'own');
  t.is(shown({ body: 'body', thread: ['one', 'two'] }, null), 'one');
  t.is(shown({ body: 'body' }, null), 'body');
  t.is(shown({}, 'own'), 'own');
  t.is(shown({}, null), null);
});

test('a network without threads shows the texts as one post', (t) => {
  const facts = { ...post, thread: ['one', 'two'] };
  const [result] = viewPost(facts, [{ ...channel, platform: 'linkedin', threads: false }]).channels;
  t.is(result?.body, 'one\n\ntwo');
});

test('a published channel keeps showing the text that went out, whatever the post says later', (t) => {
  const [result] = viewPost({ ...post, body: 'edited since' }, [
    { ...channel, status: 'published', sent_text: 'as it went out' },
  ]).channels;
  t.is(result?.body, 'as it went out');
});

test('a channel that has not ended names its live parts and their URL', (t) => {
  const facts = { ...post, thread: ['one', 'two', 'three'] };
  const shown = (parts: number, warning: string | null) =>
    viewPost(facts, [{ ...channel, warning, live: { parts, url: 'https://a/1' } }]).channels[0];
  const one = '1 of 3 parts of the thread is live, from https://a/1 on.';
  t.like(shown(1, null), { url: 'https://a/1', warning: one });
  t.is(shown(1, 'Long.')?.warning, `Long. ${one}`);
  t.is(shown(2, null)?.warning, '2 of 3 parts of the thread are live, from https://a/1 on.');
});

test('a single post is live or not, without a mention of parts', (t) => {
  const shown = (facts: Partial<ChannelFacts>) =>
    viewPost({ ...post, body: 'One' }, [{ ...channel, ...facts }]).channels[0];
  const live = { parts: 1, url: 'https://a/1' };
  t.like(shown({ live }), { url: 'https://a/1', warning: 'The post is live: https://a/1.' });
  const withComment = { live: { ...live, parts: 2 }, threads: false };
  t.is(shown(withComment)?.warning, 'The post and its first comment are live: https://a/1.');
  const error = 'The network has the post and is still processing it.';
  const processed = shown({ live, status: 'retrying', error_code: 'processing', error });
  t.like(processed, { url: 'https://a/1', warning: null, error });
});

test('warnings of a published post include those of the network', (t) => {
  const said = { ...channel, warning: 'Joined.', sent_warning: 'Made smaller.' };
  t.is(viewPost(post, [said]).channels[0]?.warning, 'Joined. Made smaller.');
});

const file = (id: string, part: number, altText: string | null = null) => {
  const shown = { id, url: `https://punctual.example/files/${id}`, type: 'image/png' };
  return {
    shown: { ...shown, media_id: id, alt_text: altText },
    facts: { ...shown, part, alt_text: altText },
  };
};

test('a post shows each of its files once, and a thread those of each part', (t) => {
  const [cat, dog, catAgain] = [file('cat', 0, 'A cat'), file('dog', 2), file('cat', 2, 'It')];
  const media = [cat.facts, dog.facts, catAgain.facts];
  const thread = ['one', 'two', 'three'];
  const view = viewPost({ ...post, thread, media }, []);
  t.deepEqual(view.media, [cat.shown, dog.shown]);
  t.deepEqual(view.thread_media, [[cat.shown], [], [dog.shown, catAgain.shown]]);
  const single = viewPost({ ...post, media: [cat.facts] }, []);
  t.deepEqual([single.media, single.thread_media], [[cat.shown], null]);
  t.deepEqual(viewPost({ ...post, thread: ['one'], media: [cat.facts] }, []).thread_media, [
    [cat.shown],
  ]);
});

test('times are in UTC with milliseconds, and missing values are null', (t) => {
  const view = viewPost({ ...post, scheduled_at: at, published_at: at }, [
    { ...channel, retry_at: at },
  ]);
  const iso = '2026-05-01T10:00:00.007Z';
  t.like(view, { scheduled_at: iso, published_at: iso, created_at: iso, updated_at: iso });
  t.is(view.channels[0]?.retry_at, iso);
  t.false(Object.values(viewPost(post, [channel])).includes(undefined as never));
});
