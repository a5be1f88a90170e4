import test from 'ava';
import { writeFile } from 'node:fs/promises';
import { pictureFile } from '../networks/files.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { mastodonClient, openSandbox, postStatus, readPage } from './open-sandbox.ts';

const hourMs = 60 * 60 * 1000;
const withKey = (key: string) => ({ requestInit: { headers: { 'Idempotency-Key': key } } });

test('a status from Mastodon’s client reads back unchanged', async (t) => {
  const { url } = await openSandbox(t);
  const client = mastodonClient(url);
  const me = await client.v1.accounts.verifyCredentials();
  const text = 'Hello #World, see https://example.com/a?b=1&c=2\n\n<b>second</b> paragraph';

  const made = await client.v1.statuses.create({ status: text, visibility: 'unlisted' });
  const read = await client.v1.statuses.$select(made.id).fetch();
  const source = await client.v1.statuses.$select(made.id).source.fetch();

  t.is(me.acct, 'demo');
  t.is(source.text, text);
  t.deepEqual(read, made);
  t.like(read, { visibility: 'unlisted', inReplyToId: null, account: { id: me.id } });
  t.is(
    read.content,
    `<p>Hello <a href="${url}/mastodon/tags/world" rel="nofollow">#World</a>, see <a href="https://example.com/a?b=1&amp;c=2" rel="nofollow">https://example.com/a?b=1&amp;c=2</a></p><p>&lt;b&gt;second&lt;/b&gt; paragraph</p>`,
  );
  t.is(read.url, `${url}/mastodon/@demo/${read.id}`);
  t.is((await fetch(`${url}/@demo/${read.id}`)).status, 200, 'by the base URL of the account');
});

test('a thread reads back in order, from each of its statuses', async (t) => {
  const { url } = await openSandbox(t);
  const { statuses } = mastodonClient(url).v1;
  const first = await statuses.create({ status: 'one' });
  const second = await statuses.create({ status: 'two', inReplyToId: first.id });
  const third = await statuses.create({ status: 'three', inReplyToId: second.id });

  const { ancestors, descendants } = await statuses.$select(second.id).context.fetch();
  const below = await statuses.$select(first.id).context.fetch();

  t.is(third.inReplyToId, second.id);
  t.deepEqual(
    [ancestors.map(({ id }) => id), descendants.map(({ id }) => id)],
    [[first.id], [third.id]],
  );
  t.deepEqual(
    below.descendants.map(({ id }) => id),
    [second.id, third.id],
  );
});

test('one Idempotency-Key makes one status, and expires after an hour', async (t) => {
  let nowMs = Date.now();
  const { url } = await openSandbox(t, { now: () => nowMs });
  const { statuses } = mastodonClient(url).v1;
  const post = () => statuses.create({ status: 'once' }, withKey('key-1'));

  const together = await Promise.all([post(), post(), post()]);
  nowMs += hourMs - 1000;
  const within = await post();
  const other = await statuses.create({ status: 'once' }, withKey('key-2'));
  nowMs += 1000;
  const after = await post();

  t.is(new Set([...together, within].map(({ id }) => id)).size, 1);
  t.not(other.id, within.id);
  t.not(after.id, within.id);
});

test('a wrong token is refused and posts nothing', async (t) => {
  const { url } = await openSandbox(t);
  const wrong = mastodonClient(url, 'nope');

  await t.throwsAsync(wrong.v1.accounts.verifyCredentials(), { message: /access token/v });
  const refused = await postStatus(url, { status: 'hello' }, { authorization: 'Bearer nope' });

  t.is(refused.status, 401);
  t.deepEqual(await refused.json(), { error: 'The access token is invalid' });
  t.deepEqual(
    await mastodonClient(url).v1.accounts.$select('100000000000000001').statuses.list(),
    [],
  );
});

test('the limit is 500 characters, counted as Mastodon counts', async (t) => {
  const { url } = await openSandbox(t);
  const statusOf = async (status: string) => (await postStatus(url, { status })).status;
  const family = '👩‍👩‍👧‍👦';
  const link = `https://example.com/${'x'.repeat(600)}`;

  t.is(await statusOf(family.repeat(500)), 200);
  t.is(await statusOf(family.repeat(501)), 422);
  t.is(await statusOf(`${link} ${'x'.repeat(476)}`), 200);
  t.is(await statusOf(`${link} ${'x'.repeat(477)}`), 422);
  t.is(await statusOf(` \n `), 422);
  const instance = await mastodonClient(url).v2.instance.fetch();
  t.like(instance.configuration.statuses, { maxCharacters: 500, charactersReservedPerUrl: 23 });
});

test('forms work as JSON does', async (t) => {
  const { url } = await openSandbox(t);
  const multipart = new FormData();
  multipart.set('status', 'from a form with parts');
  const bodies = [new URLSearchParams({ status: 'from a form' }), multipart];

  for (const body of bodies) {
    const headers = { authorization: 'Bearer demo' };
    const answer = await fetch(`${url}/api/v1/statuses`, { method: 'POST', headers, body });
    t.is(answer.status, 200);
    t.like(await answer.json(), { content: `<p>${body.get('status')}</p>` });
  }
});

test('unsupported features of the sandbox are refused, not ignored', async (t) => {
  const { url } = await openSandbox(t);
  const later = new Date(Date.now() + hourMs).toISOString();

  t.is((await postStatus(url, { status: 'hi', scheduled_at: later })).status, 422);
  t.is((await postStatus(url, { status: 'hi', in_reply_to_id: '1' })).status, 404);
  t.is((await postStatus(url, { status: 'hi', visibility: 'everyone' })).status, 422);
  t.is((await postStatus(url, { status: 'x'.repeat(1024 * 1024) })).status, 413);
  t.deepEqual(
    await mastodonClient(url).v1.accounts.$select('100000000000000001').statuses.list(),
    [],
  );
});

test('paging in both directions shows every status once', async (t) => {
  const { url } = await openSandbox(t);
  const client = mastodonClient(url);
  const { id } = await client.v1.accounts.verifyCredentials();
  const made: string[] = [];
  for (let n = 0; n < 7; n += 1) {
    made.push((await client.v1.statuses.create({ status: `status ${n}` })).id);
  }
  const list = client.v1.accounts.$select(id).statuses;

  const down: string[] = [];
  for await (const page of list.list({ limit: 3 }).values()) {
    down.push(...page.map((status) => status.id));
  }
  const up: string[] = [];
  for (let minId = '0', page = await list.list({ limit: 3, minId }); page.length > 0;) {
    up.push(...page.map((status) => status.id).toReversed());
    minId = up.at(-1) ?? minId;
    page = await list.list({ limit: 3, minId });
  }
  const newest = await list.list({ limit: 2, sinceId: made[1] ?? '', excludeReplies: true });

  t.deepEqual(down, made.toReversed());
  t.deepEqual(up, made);
  t.deepEqual(
    newest.map((status) => status.id),
    made.slice(-2).toReversed(),
  );
});

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

test('a control call sets, hides and deletes metrics, and names its invalid fields', async (t) => {
  const { url } = await openSandbox(t);
  const { id } = (await (await postStatus(url, { status: 'Hi' })).json()) as { id: string };
  const setFigures = async (body: object) => {
    const answer = await fetch(`${url}/control/figures`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ platform: 'mastodon', ...body }),
    });
    return { status: answer.status, body: JSON.stringify(await answer.json()) };
  };
  const status = () =>
    fetch(`${url}/mastodon/api/v1/statuses/${id}`, { headers: { authorization: 'Bearer demo' } });

  t.is((await setFigures({ id, figures: { likes: 7, comments: null } })).status, 200);
  const shown = (await (await status()).json()) as object;
  t.like(shown, { favourites_count: 7 });
  t.false('replies_count' in shown);
  t.is((await setFigures({ id, gone: true })).status, 200);
  t.is((await status()).status, 404);
  t.false((await (await fetch(url)).text()).includes(id));

  t.deepEqual(await setFigures({ followers: 9 }), { status: 200, body: '{"followers":9}' });
  t.is((await setFigures({ id: 'other' })).status, 404);
  for (const wrong of [{ figures: { hearts: 1 } }, { figures: { likes: -1 } }, { platform: 'y' }]) {
    t.is((await setFigures({ id, ...wrong })).status, 400, JSON.stringify(wrong));
  }
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
