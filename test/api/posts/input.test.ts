import test from 'ava';
import { sharedApi } from '../../support/kit.ts';
import { storeChannel } from '../../support/seed.ts';

const api = sharedApi(test);

const texts = [
  `'`,
  `''; drop table posts; --`,
  `"double" and 'single' and \`back\``,
  `back\\slash \\' \\" \\n \\\\ \\x00 \\u0000`,
  `? ?? ??? ?::jsonb ?| ?&`,
  `$1 $2 $$body$$ \${1} :name @name %s %1$s {0}`,
  `E'\\047' U&'\\0061' /* comment */ -- comment`,
  `<script>alert(1)</script> &amp; <b>`,
  `  leading and trailing  \n\n`,
  `right to left \u202e txet \u2066 \u2069 שלום مرحبا`,
  `emoji 😀 👨‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇩🇪`,
  `not composed e\u0301 and composed \u00e9, \ufb01 ﷽`,
  `zero width \u200b\u200d\u2060\ufeff and private \ue000 \uffff \u{10ffff}`,
  'Z\u0351\u036b\u0343\u036a\u0302a\u0348\u034el\u031bg\u0321o\u0327',
  `日本語 한국어 ไทย ελληνικά`,
  '__proto__',
  'x'.repeat(10_000),
];

test('every text is returned exactly as sent: as a body, in a thread, for a channel, as a title', async (t) => {
  const client = await api.newClient();
  const settings = { maxCharacters: 100_000 };
  const channel = await storeChannel(api.punctual, client.workspaceId, { settings });
  for (const text of texts) {
    const created = await client.post('/posts', {
      body: text,
      thread: [text, text],
      channel_ids: [channel],
      channel_bodies: { [channel]: text },
      video: { title: [...text].slice(0, 100).join('') },
    });
    t.is(created.status, 201, text.slice(0, 60));
    const { body } = await client.get(`/posts/${created.body.post.id}`);
    t.is(body.post.body, text);
    t.deepEqual(body.post.thread, [text, text]);
    t.is(body.post.channels[0].body, text);
    t.is(body.post.video.title, [...text].slice(0, 100).join(''));
  }

  const { body } = await client.post('/posts', { thread: texts, channel_ids: [channel] });
  t.deepEqual((await client.get(`/posts/${body.post.id}`)).body.post.thread, texts);
});

test('other line breaks become line breaks and control characters go, in every text that a network gets', async (t) => {
  const client = await api.newClient();
  const settings = { maxCharacters: 100_000 };
  const channel = await storeChannel(api.punctual, client.workspaceId, { settings });
  const given =
    'One\u000btwo\u0085three\u2028four\u2029five\u000csix\u0003\u0007\u007f\u009f\tend\r\n.\r';
  const kept = 'One\ntwo\nthree\nfour\nfive\nsix\tend\n.\n';
  const content = {
    body: given,
    thread: [given, { text: given }],
    channel_bodies: { [channel]: given },
    channel_options: { [channel]: { spoiler_text: given } },
    video: { title: given },
    metadata: { key: given },
  };
  const { post } = (await client.post('/posts', { ...content, channel_ids: [channel] })).body;
  const shown = [post.body, ...post.thread, post.channels[0].body, post.video.title];
  t.deepEqual(new Set([...shown, post.channels[0].options.spoiler_text]), new Set([kept]));
  t.is(post.metadata.key, given);
  const edited = await client.patch(`/posts/${post.id}`, { body: `Edited ${given}` });
  t.is(edited.body.post.body, `Edited ${kept}`);
  const url = `/channels/${channel}`;
  const set = await client.patch(url, { options: { spoiler_text: given } });
  t.is(set.body.channel.options.spoiler_text, kept);
  t.is((await client.post('/posts', { body: '\u0003\u0007' })).body.code, 'empty_body');
});

test('null means the same as an omitted field when a post is created or validated, and clears the body of a thread', async (t) => {
  const client = await api.newClient();
  const a = await storeChannel(api.punctual, client.workspaceId);
  const { post } = (await client.post('/posts', { body: 'x', channel_ids: [a] })).body;
  const names = ['thread', 'scheduled_at', 'timezone', 'video', 'external_id', 'tags', 'metadata'];
  const more = ['media', 'media_ids', 'media_urls', 'schedule_in_minutes'];
  const nulls = Object.fromEntries([...names, ...more].map((name) => [name, null]));
  const request = { ...nulls, body: 'x', channel_ids: [a], idempotency_key: 'one' };

  t.is((await client.post('/posts/validate', request)).status, 200);
  const created = await client.post('/posts', request);

  t.is(created.status, 201);
  const { id, created_at, updated_at, warning, warnings, channels, ...same } = created.body.post;
  t.like(post, same);
  const part = { ...request, body: null, thread: ['One', 'Two'], idempotency_key: 'two' };
  t.deepEqual((await client.post('/posts', part)).body.post.thread, ['One', 'Two']);
  const bare = { body: 'x', channel_ids: null, idempotency_key: null };
  t.is((await client.post('/posts', bare)).status, 201);

  const cleared = await client.patch(`/posts/${id}`, { thread: ['One', 'Two'], body: null });
  t.like(cleared.body.post, { body: null, thread: ['One', 'Two'], warning: null });
  t.is((await client.patch(`/posts/${id}`, { thread: null })).body.code, 'empty_body');
});
