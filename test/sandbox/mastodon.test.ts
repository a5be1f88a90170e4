import test from 'ava';
import { pictureFile } from '../networks/files.ts';
import { mastodonClient, openSandbox, postStatus } from './open-sandbox.ts';

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

const image = async () =>
  new Blob([new Uint8Array((await pictureFile()).bytes)], { type: 'image/png' });

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
