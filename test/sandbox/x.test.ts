import test from 'ava';
import { picture } from '../support/media-files.ts';
import { clientOf, postsOf } from '../networks/x/bench.ts';
import { openSandbox, readPage } from './open-sandbox.ts';

const accountId = '2000000000000000001';

const send = (url: string, path: string, init: RequestInit) =>
  fetch(`${url}/x/2${path}`, {
    ...init,
    headers: { authorization: 'Bearer demo', ...init.headers },
  });

const asJson = (body: object): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

test('a thread from X’s own client reads back with shortened links, and appears on the page', async (t) => {
  const sandbox = await openSandbox(t);
  const client = clientOf(sandbox);
  const me = await client.users.getMe();
  const text = 'See https://example.com/a?b=1&c=2 & <more>';
  const first = await client.posts.create({ text, paidPartnership: true });
  const id = first.data?.id ?? '';
  const reply = await client.posts.create({ text: 'two', reply: { inReplyToTweetId: id } });

  t.like(me.data, { id: accountId, username: 'demo' });
  const posts = await postsOf(client, accountId);
  t.regex(posts[0]?.post.text ?? '', /^See https:\/\/t\.co\/\w{10} &amp; &lt;more&gt;$/v);
  t.is(posts[0]?.post.text, first.data?.text);
  t.is(posts[0]?.post.entities?.urls?.[0]?.expandedUrl, 'https://example.com/a?b=1&c=2');
  t.like(posts[1]?.post, {
    id: reply.data?.id,
    conversationId: id,
    referencedPosts: [{ type: 'replied_to', id }],
  });
  const page = await readPage(`${sandbox.url}/x/i/web/status/${id}`);
  for (const words of ['https://example.com/a?b=1&amp;c=2', 'paid partnership', 'two']) {
    t.true(page.includes(words), words);
  }
});

test('unknown parts of bodies, forms and addresses are refused', async (t) => {
  const { url } = await openSandbox(t);
  const form = new FormData();
  form.set('media', new File([await picture('png')], 'a.png'));
  form.set('media_category', 'tweet_image');
  form.set('alt_text', 'unknown');
  for (const [path, init] of [
    ['/tweets', asJson({ text: 'Hi', visibility: 'public' })],
    ['/tweets', asJson({ text: 'Hi', media: { media_ids: ['abc'] } })],
    ['/tweets', asJson({ text: 'Hi', media: { media_ids: ['1', '2', '3', '4', '5'] } })],
    ['/tweets', asJson({ text: 'Hi', media: { media_ids: ['1'] } })],
    ['/tweets', asJson({ text: 'Hi', reply: { in_reply_to_tweet_id: 5 } })],
    ['/tweets', asJson({})],
    ['/media/upload', { method: 'POST', body: form }],
    ['/media/upload/initialize', asJson({ media_type: 'video/mp4', total_bytes: 5 })],
    ['/media/metadata', asJson({ id: '1', metadata: { alt_text: { text: 'x'.repeat(1001) } } })],
    [`/users/${accountId}/tweets?limit=5`, {}],
    [`/users/${accountId}/tweets?max_results=4`, {}],
    [`/users/${accountId}/tweets?tweet.fields=text`, {}],
    ['/users/me?fields=id', {}],
  ] as const) {
    const answer = await send(url, path, init);
    t.is(answer.status, 400, path);
    t.like(await answer.json(), { title: 'Invalid Request', status: 400 });
  }
});
