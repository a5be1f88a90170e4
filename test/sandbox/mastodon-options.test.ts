import { writeFile } from 'node:fs/promises';
import test from 'ava';
import { pictureFile } from '../networks/files.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { mastodonClient, openSandbox, postStatus, readPage } from './open-sandbox.ts';

const image = async () =>
  new Blob([new Uint8Array((await pictureFile()).bytes)], { type: 'image/png' });

test('a status’s chosen options are in the answer and on the page', async (t) => {
  const { url } = await openSandbox(t);
  const { v1, v2 } = mastodonClient(url);
  const description = 'A <fox>';
  const { id } = await v2.media.create({ file: await image(), description });
  const made = await v1.statuses.create({
    status: 'The fox wins',
    mediaIds: [id],
    spoilerText: 'The end of the film',
    visibility: 'unlisted',
    language: 'en',
  });

  const shown = { spoilerText: 'The end of the film', sensitive: true, language: 'en' };
  t.like(await v1.statuses.$select(made.id).fetch(), shown);
  t.like(await v1.statuses.$select(made.id).source.fetch(), { spoilerText: shown.spoilerText });
  const page = await readPage(url);
  t.regex(page, /<summary>The end of the film<\/summary>\s*<p class="text">The fox wins<\/p>/v);
  t.regex(page, /<li>unlisted<\/li>\s*<li>sensitive<\/li>\s*<li>en<\/li>/v);
  t.regex(page, /alt="A &lt;fox&gt;"[\s\S]*<figcaption>A &lt;fox&gt;<\/figcaption>/v);
});

test('a content warning counts towards the length, and is the text of a status without one', async (t) => {
  const { url } = await openSandbox(t);
  const statusOf = async (fields: Record<string, string>) => (await postStatus(url, fields)).status;
  t.is(await statusOf({ status: 'x'.repeat(490), spoiler_text: '0123456789' }), 200);
  t.is(await statusOf({ status: 'x'.repeat(491), spoiler_text: '0123456789' }), 422);

  const { v1, v2 } = mastodonClient(url);
  const { id } = await v2.media.create({ file: await image() });
  const made = await v1.statuses.create({ mediaIds: [id], spoilerText: 'Spiders' });
  t.like(made, { content: '<p>Spiders</p>', spoilerText: '', sensitive: true });
});

test('unknown fields of a status, and invalid values, are refused', async (t) => {
  const { url } = await openSandbox(t);
  for (const fields of [
    { visibility: 'everybody' },
    { language: 'English' },
    { sensitive: 'perhaps' },
    { poll: 'yes' },
    { statuss: 'Hi' },
  ]) {
    t.is((await postStatus(url, { status: 'Hi', ...fields })).status, 422, JSON.stringify(fields));
  }
  const file = await image();
  await t.throwsAsync(mastodonClient(url).v2.media.create({ file, description: 'x'.repeat(1501) }));
});

test('a file with #sandbox-slow in its alt text is ready at the third lookup, and a status must wait for it', async (t) => {
  const { url } = await openSandbox(t);
  const { v1 } = mastodonClient(url);
  const headers = { authorization: 'Bearer demo' };
  const body = new FormData();
  body.set('file', await image(), 'a.png');
  body.set('description', '#sandbox-slow');
  const answer = await fetch(`${url}/api/v2/media`, { method: 'POST', headers, body });
  const { id, url: address } = (await answer.json()) as { id: string; url: string | null };
  const poll = async () => (await fetch(`${url}/api/v1/media/${id}`, { headers })).status;

  t.deepEqual([answer.status, address], [202, null]);
  await t.throwsAsync(v1.statuses.create({ mediaIds: [id] }), { message: /not finished/v });
  t.deepEqual([await poll(), await poll(), await poll()], [206, 206, 200]);
  await t.notThrowsAsync(v1.statuses.create({ mediaIds: [id] }));
});

test('a file with #sandbox-broken in its alt text fails in its processing', async (t) => {
  const { url } = await openSandbox(t);
  const { v1, v2 } = mastodonClient(url);
  const attempt = v2.media.create({ file: await image(), description: '#sandbox-broken' });
  await t.throwsAsync(attempt, { message: /Error processing/v });
  t.is((await v1.accounts.$select('100000000000000001').statuses.list()).length, 0);
});

test('posts that an earlier version stored are shown, and found by lookups', async (t) => {
  const dataFile = `${await temporaryFolder(t)}/posts.json`;
  const old = { text: 'Old', createdAt: '2026-11-20T10:00:00.000Z', replyTo: null };
  const record = { $type: 'app.bsky.feed.post', text: 'Old', createdAt: old.createdAt };
  const posts = [
    { ...old, network: 'mastodon', id: '1', visibility: 'public', language: null, key: null },
    { ...old, network: 'bluesky', id: '3mabcdefghij2', cid: 'bafy', record },
  ];
  await writeFile(dataFile, JSON.stringify({ secret: 's', posts }));

  const { url } = await openSandbox(t, { dataFile });
  t.is([...(await readPage(url)).matchAll(/<p class="text">Old<\/p>/gv)].length, 2);
  const status = await mastodonClient(url).v1.statuses.$select('1').fetch();
  t.like(status, { content: '<p>Old</p>', spoilerText: '', sensitive: false });

  await writeFile(dataFile, JSON.stringify({ secret: 's', posts: [{ ...posts[0], key: 5 }] }));
  await t.throwsAsync(openSandbox(t, { dataFile }), { message: /holds no sandbox posts/v });
});

test('refused posts survive a restart, and one that is sent again appears once', async (t) => {
  const dataFile = `${await temporaryFolder(t)}/posts.json`;
  const before = await openSandbox(t, { dataFile });
  for (let n = 0; n < 3; n += 1) {
    await postStatus(before.url, { status: '#sandbox-refuse me' });
  }
  await before.close();

  const page = await readPage((await openSandbox(t, { dataFile })).url);
  t.is([...page.matchAll(/class="post mastodon refused"/gv)].length, 1);
});
