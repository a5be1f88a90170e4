import test from 'ava';
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
