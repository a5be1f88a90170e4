import test from 'ava';
import {
  blueskyClient,
  mastodonClient,
  openSandbox,
  postStatus,
  readPage,
} from './open-sandbox.ts';

/** The threads of a page, each as the texts of its posts. */
function threadsOf(page: string): string[][] {
  const threads = [...page.matchAll(/<section class="thread"[\s\S]*?<\/section>/gv)];
  return threads.map(([thread]) =>
    [...thread.matchAll(/<p class="text">([\s\S]*?)<\/p>/gv)].map(([, text = '']) => text),
  );
}

test('before the first post the page says what to do', async (t) => {
  const { url } = await openSandbox(t);
  const page = await readPage(url);

  t.regex(page, /Schedule a post with the curl that <code>npm start<\/code> printed/v);
  t.regex(page, /#sandbox-refuse[\s\S]*#sandbox-busy[\s\S]*#sandbox-lost/v);
});

test('threads stand in order, the newest first', async (t) => {
  const { url } = await openSandbox(t);
  const { statuses } = mastodonClient(url).v1;
  const agent = await blueskyClient(url);
  const first = await statuses.create({ status: 'm1' });
  const root = await agent.post({ text: 'b1' });
  const parent = await agent.post({ text: 'b2', reply: { root, parent: root } });
  await statuses.create({ status: 'alone' });
  const second = await statuses.create({ status: 'm2', inReplyToId: first.id });
  await statuses.create({ status: 'aside', inReplyToId: first.id });
  await agent.post({ text: 'b3', reply: { root, parent } });
  await statuses.create({ status: 'm3', inReplyToId: second.id });
  await statuses.create({ status: 'last' });

  t.deepEqual(threadsOf(await readPage(url)), [
    ['last'],
    ['m1', 'm2', 'm3', 'aside'],
    ['b1', 'b2', 'b3'],
    ['alone'],
  ]);
  t.deepEqual(threadsOf(await readPage(`${url}/bluesky/profile/${agent.did}`)), [
    ['b1', 'b2', 'b3'],
  ]);
});

test('whatever a text contains, it stays text', async (t) => {
  const { url } = await openSandbox(t);
  const agent = await blueskyClient(url);
  const evil = `<script>alert(1)</script><img src=x onerror=alert(1)>"'&lt;`;
  const safe =
    '&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;lt;';
  await postStatus(url, { status: evil });
  const facet = {
    index: { byteStart: 0, byteEnd: 8 },
    features: [
      { $type: 'app.bsky.richtext.facet#link' as const, uri: 'javascript:alert(1)' as const },
    ],
  };
  const { uri } = await agent.post({ text: evil, facets: [facet] });

  const answer = await fetch(url);
  t.deepEqual(threadsOf(await answer.text()), [[safe], [safe]]);
  t.regex(
    answer.headers.get('content-security-policy') ?? '',
    /^default-src 'none'; script-src 'self';/v,
  );
  const own = await readPage(`${url}/bluesky/profile/${agent.did}/post/${uri.split('/').at(-1)}`);
  t.false(own.includes('<script>alert'));
  t.regex(own, /<title>“&lt;script&gt;/v);
});

test('links, mentions and tags lead somewhere', async (t) => {
  const { url } = await openSandbox(t);
  const agent = await blueskyClient(url);
  const text = '👋 see https://example.com/a?b=1&c=2, @demo@sandbox and #Über';
  await postStatus(url, { status: text });
  const start = Buffer.byteLength('👋 ');
  const index = { byteStart: start, byteEnd: start + 'here'.length };
  const link = {
    $type: 'app.bsky.richtext.facet#link' as const,
    uri: 'https://example.com/b' as const,
  };
  await agent.post({
    text: '👋 here, not https://example.com/c',
    facets: [{ index, features: [link] }],
  });

  const page = await readPage(url);
  t.deepEqual(threadsOf(page), [
    [
      '👋 <a href="https://example.com/b" rel="nofollow noreferrer">here</a>, not https://example.com/c',
    ],
    [
      '👋 see <a href="https://example.com/a?b=1&amp;c=2" rel="nofollow noreferrer">https://example.com/a?b=1&amp;c=2</a>, <a href="/mastodon/@demo" rel="nofollow noreferrer">@demo@sandbox</a> and <a href="/mastodon/tags/%C3%BCber" rel="nofollow noreferrer">#Über</a>',
    ],
  ]);
  t.is(threadsOf(await readPage(`${url}/mastodon/tags/%C3%BCber`)).length, 1);
  t.is(threadsOf(await readPage(`${url}/mastodon/tags/other`)).length, 0);
});

test('a post’s live address shows it highlighted in its thread', async (t) => {
  const { url } = await openSandbox(t);
  const { statuses } = mastodonClient(url).v1;
  const agent = await blueskyClient(url);
  const first = await statuses.create({ status: 'one' });
  const second = await statuses.create({ status: 'two', inReplyToId: first.id });
  const root = await agent.post({ text: 'eins' });
  const reply = await agent.post({ text: 'zwei', reply: { root, parent: root } });
  const rkey = reply.uri.split('/').at(-1);
  const addresses = [
    [second.url ?? '', ['one', 'two'], 'two'],
    [`${url}/bluesky/profile/${agent.did}/post/${rkey}`, ['eins', 'zwei'], 'zwei'],
    [`${url}/bluesky/profile/demo.sandbox.test/post/${rkey}`, ['eins', 'zwei'], 'zwei'],
  ] as const;

  for (const [address, thread, text] of addresses) {
    const page = await readPage(address);
    const highlighted = /aria-current="true"[\s\S]*?<p class="text">(?<text>[^<]*)/v.exec(page);
    t.deepEqual(threadsOf(page), [[...thread]]);
    t.is(highlighted?.groups?.['text'], text);
  }
  t.is((await fetch(`${url}/mastodon/@demo/1`)).status, 404);
  t.is((await fetch(`${url}/bluesky/profile/did:plc:other/post/${rkey}`)).status, 404);
});

test('the page loads nothing from elsewhere, and all that it loads is there', async (t) => {
  const { url } = await openSandbox(t);
  await postStatus(url, { status: 'hello' });
  const page = await readPage(url);
  const loaded = [...page.matchAll(/<(?:img|script|link)[^>]*?(?:src|href)="([^"]*)"/gv)];
  const addresses = new Set(loaded.map(([, address = '']) => address));

  t.true(addresses.size >= 4);
  for (const address of addresses) {
    t.regex(address, /^\/assets\//v);
    t.is((await fetch(url + address)).status, 200, address);
  }
});

test('an open page hears of a new post at once', async (t) => {
  const { url } = await openSandbox(t);
  const answer = await fetch(`${url}/events`);
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  const greeting = await reader?.read();
  await postStatus(url, { status: 'hello' });
  const news = await reader?.read();

  t.is(answer.headers.get('content-type'), 'text/event-stream');
  t.false(greeting?.value?.includes('data:'));
  t.is(news?.value, 'data: change\n\n');
});

test('more threads than fit on a page are reached by paging', async (t) => {
  const { url } = await openSandbox(t);
  for (let n = 0; n < 51; n += 1) {
    await postStatus(url, { status: `status ${n}` });
  }

  const first = await readPage(url);
  const second = await readPage(`${url}/?page=2`);

  t.is(threadsOf(first).length, 50);
  t.regex(first, /<a href="\?page=2">Older<\/a>/v);
  t.deepEqual(threadsOf(second), [['status 0']]);
});
