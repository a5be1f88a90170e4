import test from 'ava';
import {
  blueskyClient,
  mastodonClient,
  openSandbox,
  postStatus,
  readPage,
} from './open-sandbox.ts';

const collection = 'app.bsky.feed.post';
const rkey = '3mabcdefghij2';

/** Writes a record at a key, without a client that would repeat or hide anything. */
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
  t.true((await readPage(url)).includes('No posts yet'));
});

test('a text with #sandbox-busy is rate limited once per key, with a reset seconds ahead', async (t) => {
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

test('a text with #sandbox-lost is taken, though no answer comes', async (t) => {
  const { url } = await openSandbox(t);
  const write = await recordWriter(url);
  const { v1 } = mastodonClient(url);
  const text = 'This gets #sandbox-lost';
  const post = () => postStatus(url, { status: text }, { 'idempotency-key': 'k' });

  await t.throwsAsync(post());
  await t.throwsAsync(write(text));

  const [status, ...others] = await v1.accounts.$select('100000000000000001').statuses.list();
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
