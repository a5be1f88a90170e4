import test from 'ava';
import { createFigures, figureNames } from '../../sandbox/figures.ts';
import {
  blueskyClient,
  mastodonClient,
  openSandbox,
  postStatus,
  readPage,
} from './open-sandbox.ts';

const collection = 'app.bsky.feed.post';
const rkey = '3mabcdefghij2';
const account = '100000000000000001';

/** The status of a lookup of the tests' record. */
async function foundOn(url: string): Promise<number> {
  const query = new URLSearchParams({ repo: 'demo.sandbox.test', collection, rkey });
  return (await fetch(`${url}/xrpc/com.atproto.repo.getRecord?${query}`)).status;
}

/** Writes a record at a key, without a client that would repeat or hide requests. */
async function recordWriter(url: string) {
  const { session } = await blueskyClient(url);
  return (text: string, key = rkey) =>
    fetch(`${url}/bluesky/xrpc/com.atproto.repo.applyWrites`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${session?.accessJwt}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        repo: session?.did,
        writes: [
          {
            $type: 'com.atproto.repo.applyWrites#create',
            collection,
            rkey: key,
            value: { text, createdAt: '2026-11-20T10:00:00.000Z' },
          },
        ],
      }),
    });
}

test('a text with #sandbox-refuse is refused, every time', async (t) => {
  const { url } = await openSandbox(t);
  const write = await recordWriter(url);
  const text = 'Please #sandbox-refuse this';

  for (let n = 0; n < 2; n += 1) {
    const mastodon = await postStatus(url, { status: text }, { 'idempotency-key': 'k' });
    const bluesky = await write(text);
    t.is(mastodon.status, 422);
    t.like(await mastodon.json(), {
      error: 'Validation failed: The text has #sandbox-refuse in it',
    });
    t.is(bluesky.status, 400);
    t.like(await bluesky.json(), { error: 'InvalidRequest' });
  }
  const page = await readPage(url);
  t.is([...page.matchAll(/<article[^>]*class="post \w+ refused"/gv)].length, 2);
  t.is([...page.matchAll(/class="reason">[^<]*#sandbox-refuse in it/gv)].length, 2);
  t.deepEqual(await mastodonClient(url).v1.accounts.$select(account).statuses.list(), []);
});

test('a text with #sandbox-busy is rate limited once per key, with a reset in a few seconds', async (t) => {
  const nowMs = Date.now();
  const { url } = await openSandbox(t, { now: () => nowMs });
  const write = await recordWriter(url);
  const text = 'You are #sandbox-busy';
  const post = (key: string) => postStatus(url, { status: text }, { 'idempotency-key': key });

  const mastodon = await post('a');
  const bluesky = await write(text);

  t.is(mastodon.status, 429);
  t.is(Date.parse(mastodon.headers.get('x-ratelimit-reset') ?? ''), nowMs + 5000);
  t.is(bluesky.status, 429);
  const waitMs = Number(bluesky.headers.get('ratelimit-reset')) * 1000 - nowMs;
  t.true(waitMs >= 5000 && waitMs < 6000, String(waitMs));
  t.deepEqual([(await post('a')).status, (await write(text)).status], [200, 200]);
  t.deepEqual([(await post('b')).status, (await write(text, '3mabcdefghij3')).status], [429, 429]);
});

test('a text with #sandbox-lost is published without a response', async (t) => {
  const { url } = await openSandbox(t);
  const write = await recordWriter(url);
  const { v1 } = mastodonClient(url);
  const text = 'This gets #sandbox-lost';
  const post = () => postStatus(url, { status: text }, { 'idempotency-key': 'k' });

  await t.throwsAsync(post());
  await t.throwsAsync(write(text));

  const [status, ...others] = await v1.accounts.$select(account).statuses.list();
  t.like(await (await post()).json(), { id: status?.id });
  t.deepEqual(others, []);
  const agent = await blueskyClient(url);
  const { data } = await agent.com.atproto.repo.getRecord({
    repo: agent.assertDid,
    collection,
    rkey,
  });
  t.is(data.value['text'], text);
  t.is((await write(text)).status, 500);
});

test('a text with #sandbox-error is published with an error as the response', async (t) => {
  const { url } = await openSandbox(t);
  const write = await recordWriter(url);
  const text = 'This is an #sandbox-error';
  const post = () => postStatus(url, { status: text }, { 'idempotency-key': 'k' });

  t.deepEqual([(await post()).status, (await write(text)).status], [500, 500]);

  const [status] = await mastodonClient(url).v1.accounts.$select(account).statuses.list();
  t.like(await (await post()).json(), { id: status?.id });
  t.is(await foundOn(url), 200);
});

test('a text with #sandbox-late is accepted without a response, and appears after twenty seconds', async (t) => {
  let nowMs = Date.now();
  const { url } = await openSandbox(t, { now: () => nowMs });
  const write = await recordWriter(url);
  const list = () => mastodonClient(url).v1.accounts.$select(account).statuses.list();
  await t.throwsAsync(postStatus(url, { status: '#sandbox-late' }));
  await t.throwsAsync(write('#sandbox-late'));

  nowMs += 20_000 - 1;
  t.deepEqual([(await list()).length, await foundOn(url)], [0, 400]);
  nowMs += 1;
  t.deepEqual([(await list()).length, await foundOn(url)], [1, 200]);
  t.true((await readPage(url)).includes('class="post mastodon"'));
});

test('a text with #sandbox-unconfirmed is accepted without a response, and appears with another text for ten minutes', async (t) => {
  let nowMs = Date.now();
  const { url } = await openSandbox(t, { now: () => nowMs });
  const write = await recordWriter(url);
  const list = async (query = '') => {
    const answer = await fetch(`${url}/api/v1/accounts/${account}/statuses${query}`);
    return ((await answer.json()) as { content: string }[]).map(({ content }) => content);
  };
  await t.throwsAsync(postStatus(url, { status: '#sandbox-unconfirmed' }));
  await t.throwsAsync(write('#sandbox-unconfirmed'));
  const other = ['<p>This is not the text that was sent.</p>'];

  nowMs += 600_000 - 1;
  t.deepEqual([await list(), await list('?min_id=9'.padEnd(30, '9'))], [other, other]);
  nowMs += 1;
  t.regex((await list()).join(''), /sandbox<\/a>-unconfirmed/v);
  t.deepEqual(await list('?min_id=9'.padEnd(30, '9')), []);
});

test('after a text with #sandbox-revoked the token is refused until it is restored', async (t) => {
  const { url } = await openSandbox(t);
  const write = await recordWriter(url);
  const post = (status: string) => postStatus(url, { status });
  const bodies = async (answers: Promise<Response>[]) =>
    Promise.all(
      answers.map(async (answer) => ((await (await answer).json()) as { error: string }).error),
    );
  const refused = ['The access token was revoked', 'ExpiredToken'];

  t.deepEqual(await bodies([post('#sandbox-revoked'), write('#sandbox-revoked')]), refused);
  t.deepEqual(await bodies([post('Hi'), write('Hi')]), refused);
  await t.throwsAsync(blueskyClient(url), { message: /password/v });
  await fetch(`${url}/control`, { method: 'DELETE' });
  t.deepEqual([(await post('Hi')).status, (await write('Hi')).status], [200, 200]);
});

test('a text with #sandbox-duplicate is refused as a duplicate', async (t) => {
  const { url } = await openSandbox(t);
  const write = await recordWriter(url);
  for (const answer of [
    await postStatus(url, { status: '#sandbox-duplicate' }),
    await write('#sandbox-duplicate'),
  ]) {
    t.true([400, 422].includes(answer.status));
    t.regex(await answer.text(), /posted this already/v);
  }
});

const control = (url: string, call: object, type = 'application/json') =>
  fetch(`${url}/control`, {
    method: 'POST',
    headers: { 'content-type': type },
    body: JSON.stringify(call),
  });

test('a control call makes a number of requests to one network fail, with any text', async (t) => {
  const { url } = await openSandbox(t);
  const write = await recordWriter(url);
  const answer = await control(url, {
    platform: 'mastodon',
    directive: 'refuse',
    count: 2,
    reason: 'No',
  });
  const { set } = (await answer.json()) as { set: unknown };
  const first = await postStatus(url, { status: 'one' });

  t.deepEqual(set, [{ platform: 'mastodon', directive: 'refuse', count: 2, reason: 'No' }]);
  t.deepEqual(await first.json(), { error: 'Validation failed: No' });
  t.is((await write('one')).status, 200);
  t.like(await (await fetch(`${url}/control`)).json(), { set: [{ count: 1 }] });
  t.is((await postStatus(url, { status: 'two' })).status, 422);
  t.is((await postStatus(url, { status: 'three' })).status, 200);
  t.like(await (await fetch(`${url}/control`)).json(), { set: { length: 0 } });
});

test('an invalid control call is refused with the valid values', async (t) => {
  const { url } = await openSandbox(t);
  const refused = [
    [{ platform: 'myspace', directive: 'lost' }, /There are: mastodon, bluesky, /v],
    [{ platform: 'mastodon', directive: 'explode' }, /There are: refuse, /v],
    [{ platform: 'mastodon', directive: 'lost', counts: 1 }, /Unknown field `counts`/v],
    [{ platform: 'mastodon', directive: 'lost', count: -1 }, /\/count must be at least 0/v],
  ] as const;
  for (const [call, words] of refused) {
    const answer = await control(url, call);
    t.is(answer.status, 400);
    t.regex(((await answer.json()) as { error: string }).error, words);
  }
  t.is((await control(url, { platform: 'mastodon', directive: 'lost' }, 'text/plain')).status, 415);
});

const hourMs = 60 * 60_000;

test('metrics grow with a post’s age, never fall, and are the same after a restart', (t) => {
  let nowMs = Date.UTC(2026, 10, 20, 12);
  const figures = createFigures(() => nowMs);
  for (let number = 0; number < 50; number += 1) {
    nowMs = Date.UTC(2026, 10, 20, 12);
    const post = {
      network: 'x',
      id: String(number),
      text: '',
      createdAt: new Date(nowMs).toISOString(),
      replyTo: null,
    };
    let before = figures.of(post);
    t.true(Object.values(before).every((count) => count === 0));
    for (let hour = 0; hour < 200; hour += 5) {
      nowMs += 5 * hourMs;
      const after = figures.of(post);
      t.true(figureNames.every((name) => (after[name] ?? -1) >= (before[name] ?? 0)));
      before = after;
    }
    t.true((before.impressions ?? 0) <= 5000 && (before.likes ?? 0) <= 200);
    t.deepEqual(createFigures(() => nowMs).of(post), before);
  }
});
