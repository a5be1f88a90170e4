import test from 'ava';
import type { Client } from '@xdevplatform/xdk';
import { animation, picture } from '../support/media-files.ts';
import { clientOf, postsOf } from '../networks/x/bench.ts';
import { openSandbox, readPage } from './open-sandbox.ts';

const accountId = '2000000000000000001';

/** The error that X's own client gets. */
async function refusalOf(call: Promise<unknown>): Promise<object> {
  const error = await call.then(
    () => ({}),
    (reason: unknown) => reason,
  );
  return Object(error);
}

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

test('an unknown field of an answer is left out silently', async (t) => {
  const sandbox = await openSandbox(t);
  await clientOf(sandbox).posts.create({ text: 'Hi' });
  const path = `/users/${accountId}/tweets?post.fields=conversation,referenced_tweets`;
  const { data } = (await (await send(sandbox.url, path, {})).json()) as { data: object[] };
  t.deepEqual(Object.keys(data[0] ?? {}), ['id', 'text']);
});

test('an equal text is refused for ten minutes', async (t) => {
  let nowMs = Date.now();
  const sandbox = await openSandbox(t, { now: () => nowMs });
  const client = clientOf(sandbox);
  await client.posts.create({ text: 'Once' });
  const again = await refusalOf(client.posts.create({ text: ' Once ' }));
  t.like(again, { status: 403 });
  nowMs += 10 * 60_000;
  t.truthy((await client.posts.create({ text: 'Once' })).data?.id);
});

test('a file needs all its segments, and a post needs a processed file', async (t) => {
  const sandbox = await openSandbox(t);
  const client: Client = clientOf(sandbox);
  const gif = await animation('gif', [100, 100]);
  const begun = await client.media.initializeUpload({
    mediaType: 'image/gif',
    mediaCategory: 'tweet_gif',
    totalBytes: gif.length,
  });
  const id = begun.data?.id ?? '';
  const append = (index: number, bytes: Buffer) => {
    const form = new FormData();
    form.set('segment_index', String(index));
    form.set('media', new File([new Uint8Array(bytes)], 'media'));
    return send(sandbox.url, `/media/upload/${id}/append`, { method: 'POST', body: form });
  };
  const post = () => client.posts.create({ text: 'A GIF', media: { mediaIds: [id] } });

  t.is((await append(1, gif.subarray(100))).status, 200);
  t.like(await refusalOf(client.media.finalizeUpload(id)), { status: 400 }, 'the first is missing');
  t.like(await refusalOf(post()), { status: 400 });
  t.is((await append(0, gif.subarray(0, 100))).status, 200);
  t.is((await append(2, Buffer.from('more'))).status, 400, 'more than was announced');
  await fetch(`${sandbox.url}/control`, asJson({ platform: 'x', directive: 'slow' }));
  const finished = await client.media.finalizeUpload(id);
  t.like(finished.data?.processingInfo, { state: 'in_progress', checkAfterSecs: 1 });
  t.like(await refusalOf(post()), { status: 400 });
  for (const state of ['in_progress', 'in_progress', 'succeeded']) {
    const { data } = await client.media.getUploadStatus(id, { command: 'STATUS' });
    t.is(data?.processingInfo?.state, state);
  }
  t.truthy((await post()).data?.id);
});

test('an app without credits is refused as X does, for the ordered number of requests', async (t) => {
  const sandbox = await openSandbox(t);
  const post = () =>
    fetch(`${sandbox.url}/x/2/tweets`, {
      ...asJson({ text: 'Hi' }),
      headers: { 'content-type': 'application/json', authorization: 'Bearer demo' },
    });
  await fetch(`${sandbox.url}/control`, asJson({ platform: 'x', directive: 'no-credits' }));
  const broke = await post();
  t.is(broke.status, 402);
  t.like(await broke.json(), { title: 'CreditsDepleted', status: 402 });

  await fetch(
    `${sandbox.url}/control`,
    asJson({ platform: 'x', directive: 'spend-cap', count: 2 }),
  );
  const capped = await post();
  t.is(capped.status, 403);
  const body = (await capped.json()) as { reset_date?: string };
  t.like(body, { title: 'SpendCapReached', status: 403 });
  t.regex(body.reset_date ?? '', /^\d{4}-\d{2}-01$/v);
  const token = await fetch(`${sandbox.url}/x/2/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'any' }),
  });
  t.is(token.status, 403);
  t.is((await post()).status, 201);
});
