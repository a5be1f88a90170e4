import test, { type ExecutionContext } from 'ava';
import { newClient } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { storeChannel } from '../../support/seed.ts';

const texts = [
  `'`,
  `''; drop table posts; --`,
  `"double" and 'single' and \`back\``,
  `back\\slash \\' \\" \\n \\\\ \\x00 \\u0000`,
  `? ?? ??? ?::jsonb ?| ?&`,
  `$1 $2 $$body$$ \${1} :name @name %s %1$s {0}`,
  `E'\\047' U&'\\0061' /* comment */ -- comment`,
  `<script>alert(1)</script> &amp; <b>`,
  `{"json": [1, "two"]} \u007f`,
  `  leading and trailing  \n\n`,
  `line\nline\r\nline\rline\ttab\u0001\u001f\u0085`,
  `line separators \u2028 \u2029`,
  `right to left \u202e txet \u2066 \u2069 שלום مرحبا`,
  `emoji 😀 👨‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇩🇪`,
  `not composed e\u0301 and composed \u00e9, \ufb01 ﷽`,
  `zero width \u200b\u200d\u2060\ufeff and private \ue000 \uffff \u{10ffff}`,
  'Z\u0351\u036b\u0343\u036a\u0302a\u0348\u034el\u031bg\u0321o\u0327',
  `日本語 한국어 ไทย ελληνικά`,
  'true',
  'null',
  '0',
  '__proto__',
  'x'.repeat(10_000),
];

async function world(t: ExecutionContext) {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const settings = { maxCharacters: 100_000 };
  return { client, channel: await storeChannel(punctual, client.workspaceId, { settings }) };
}

test('any text comes back exactly as it was sent: as a body, in a thread, for a channel, as a title', async (t) => {
  const { client, channel } = await world(t);
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

test('any text is an idempotency key of its own', async (t) => {
  const { client } = await world(t);
  const keys = texts.map((text) => text.slice(0, 200));
  const made = new Set<string>();
  for (const key of keys) {
    const post = { body: 'x', idempotency_key: key };
    const first = await client.post('/posts', post);
    t.is(first.status, 201, key);
    made.add(first.body.post.id);
    const second = await client.post('/posts', post);
    t.is(second.status, 200, key);
    t.is(second.body.post.id, first.body.post.id, key);
  }

  t.is(made.size, keys.length);
});

test('names of channels and workspaces are no less hostile', async (t) => {
  const punctual = await startApi(t);
  for (const text of texts.slice(0, 12)) {
    const client = await newClient(punctual, text);
    await storeChannel(punctual, client.workspaceId, { handle: text });
    t.is((await client.get('/me')).body.workspace.name, text);
    t.is((await client.get('/channels')).body.channels[0].handle, text);
  }
});
