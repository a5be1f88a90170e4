import test from 'ava';
import pino from 'pino';
import { NetworkError } from '../../networks/network.ts';
import { fails, fakeNetwork, liveTexts } from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';

const minute = 60_000;
const { newSteps, newChannel } = onOneDatabase(test);

test('a post is sent once, and a repeated attempt returns the same result without sending', async (t) => {
  const network = fakeNetwork();
  const channel = await newChannel(t, network);
  const lines: string[] = [];
  const worker = channel.newWorker({
    log: pino({}, { write: (line: string) => void lines.push(line) }),
  });
  const post = await channel.newPost(['Hello']);

  t.like(await post.attempt(worker), { kind: 'done', status: 'published' });
  t.like(await post.attempt(worker), { kind: 'done', status: 'published' });

  t.is(network.sends.length, 1);
  t.is((await post.row()).url, network.live[0]?.sent.url ?? null);
  t.is(lines.length, 1);
  const { channelId } = channel;
  const line = { level: 30, post: post.postId, channel: channelId, attempt: 1, msg: 'published' };
  t.like(JSON.parse(lines[0] ?? ''), line);
});

test('a post whose response was lost is found and not sent again', async (t) => {
  const network = fakeNetwork();
  const post = await (await newChannel(t, network)).newPost(['Hello']);
  network.fates.push({ kind: 'lost' });

  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.is(network.live.length, 1);
  t.is(network.sends.length, 1);
});

test('a vanished send is repeated with the same key once it can no longer appear', async (t) => {
  const network = fakeNetwork(minute);
  const channel = await newChannel(t, network);
  const post = await channel.newPost(['Hello']);
  network.fates.push({ kind: 'vanished' });

  t.like(await post.attempt(), { kind: 'again', code: 'network_unavailable', inMs: minute });
  t.like(await post.row(), { status: 'retrying', errorCode: 'network_unavailable' });
  channel.pass(minute / 2);
  t.like(await post.attempt(), { kind: 'again' }); // After half a minute, the post may still appear.
  t.is(network.sends.length, 1);
  channel.pass(2 * minute);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });

  t.is(network.live.length, 1);
  t.is(network.sends.length, 2);
  t.is(new Set(network.sends).size, 1);
  t.like(await post.row(), { error: null, errorCode: null, retryAt: null });
});

test('a thread resumes at the missing part', async (t) => {
  const network = fakeNetwork();
  const channel = await newChannel(t, network);
  const post = await channel.newPost(['One', 'Two', 'Three']);
  network.fates.push({ kind: 'taken' }, fails('network_unavailable'));

  t.like(await post.attempt(), { kind: 'again' });
  channel.pass(minute);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });

  t.deepEqual(liveTexts(network), ['One', 'Two', 'Three']);
  t.is((await post.row()).url, network.live[0]?.sent.url ?? null);
});

test('refused content is not retried, and the error names the part and the live parts', async (t) => {
  const network = fakeNetwork();
  const post = await (await newChannel(t, network)).newPost(['One', 'Two', 'Three']);
  network.fates.push({ kind: 'taken' }, fails('content_refused'));

  t.like(await post.attempt(), { kind: 'done', status: 'failed' });
  const row = await post.row();
  t.like(row, { errorCode: 'content_refused', url: null, retryAt: null });
  t.true(row.error?.startsWith('Part 2 of 3 did not go out: They said content_refused.'));
  t.true(row.error?.includes(network.live[0]?.sent.url ?? '?'));
});

test('an attempt is repeated after 30 s, 2 min, 10 min and 30 min, and then the post fails', async (t) => {
  const network = fakeNetwork();
  const channel = await newChannel(t, network);
  const post = await channel.newPost(['Hello']);
  network.fates.push(...Array.from({ length: 9 }, () => fails('network_unavailable')));

  for (const wait of [0.5, 2, 10, 30]) {
    t.like(await post.attempt(), { kind: 'again', inMs: wait * minute });
    channel.pass(wait * minute);
  }

  t.like(await post.attempt(), { kind: 'done', status: 'failed' });
  t.is(network.sends.length, 5);
});

test('two equal posts whose responses were lost are matched to one live post each', async (t) => {
  const network = fakeNetwork();
  const { newPost } = await newChannel(t, network);
  const [first, second] = [await newPost(['Same']), await newPost(['Same'])];
  network.fates.push({ kind: 'lost' }, { kind: 'lost' });

  await first.attempt();
  await second.attempt();

  const urls = [(await first.row()).url, (await second.row()).url];
  t.deepEqual(new Set(urls), new Set(network.live.map(({ sent }) => sent.url)));
  t.is(new Set(urls).size, 2);
});

test('concurrent attempts publish one post', async (t) => {
  for (let round = 0; round < 10; round++) {
    const network = fakeNetwork();
    const post = await (await newChannel(t, network)).newPost(['Hello']);
    await Promise.allSettled([post.attempt(), post.attempt(), post.attempt()]);
    await post.attempt();
    t.is(network.live.length, 1);
    t.is((await post.row()).status, 'published');
  }
});

test('a worker whose clock is ahead does not repeat a send that may still appear', async (t) => {
  const network = fakeNetwork(minute);
  const { deps, pass, newPost, newWorker } = await newChannel(t, network);
  const ahead = newWorker({ now: () => new Date(deps.now().getTime() + 5 * minute) });
  const post = await newPost(['Hello']);
  network.fates.push({ kind: 'vanished' });
  t.like(await post.attempt(), { kind: 'again' });

  pass(minute / 2);
  // It waits for the rest of the minute, measured by its own clock.
  t.like(await post.attempt(ahead), { kind: 'again', code: 'network_unavailable' });
  t.is(network.sends.length, 1);
  pass(minute / 2);
  t.like(await post.attempt(ahead), { kind: 'done', status: 'published' });
  t.is(network.live.length, 1);
});

const hour = 60 * minute;

test('posts whose first attempt comes days late all fail', async (t) => {
  const network = fakeNetwork();
  const steps = await newSteps(t, { a: network });
  const posts = [];
  for (const body of ['First', 'Second', 'Third']) {
    const channel_ids = Object.values(steps.channels);
    posts.push(await steps.create({ body, channel_ids, schedule_in_minutes: 0 }));
    steps.pass(1000);
  }

  steps.pass(72 * hour);
  for (const post of posts) {
    const go = await steps.claimOrThrow(post);
    await steps.attemptAll(post, go);
    t.is((await steps.finalize(post, go)).status, 'failed');
    const [channel] = (await steps.show(post)).channels;
    t.like(channel, { status: 'failed', error_code: 'too_late' });
    t.regex(channel?.error ?? '', /It cannot go out within a day of its time\. Retry the post/v);
  }

  t.deepEqual(network.sends, []);

  const [first = ''] = posts;
  await steps.retry(first);
  await steps.attemptAll(first, await steps.claimOrThrow(first));
  t.deepEqual(liveTexts(network), ['First']);
});

test('a file that is uploaded over twelve attempts with progress does not fail, and the post goes out', async (t) => {
  const network = fakeNetwork();
  const channel = await newChannel(t, network);
  const post = await channel.newPost(['A long film']);
  const { upload } = network;
  network.upload = async () => {
    throw new NetworkError('network_unavailable', 'Half of it is there.', {
      accepted: 'no',
      hasProgressed: true,
    });
  };
  for (let attempt = 0; attempt < 12; attempt += 1) {
    t.deepEqual(await post.attempt(), { kind: 'again', code: 'network_unavailable', inMs: 30_000 });
    channel.pass(minute);
  }

  t.is((await post.row()).tries, 0);
  network.upload = upload;
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.deepEqual(liveTexts(network), ['A long film']);
});
