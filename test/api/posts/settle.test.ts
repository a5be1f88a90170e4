import test, { type ExecutionContext } from 'ava';
import { NetworkError } from '../../../networks/network.ts';
import { sharedDatabase } from '../../support/kit.ts';
import { heldNetwork, type FakeNetwork } from '../../support/networks.ts';
import { postSteps } from '../../support/post-steps.ts';
import { longEnoughMs, muteWorkspace, type MuteWorkspace } from './doubtful-post.ts';

const database = sharedDatabase(test);

const workspace = (t: ExecutionContext): Promise<MuteWorkspace> => muteWorkspace(t, database().url);

/** The URL that a person gives for a post. */
const there = 'https://social.test/@ana/1';
const elsewhere = 'https://social.test/@ana/2';

test('a post that a person found becomes published at that URL, at the time of its request, with a new event', async (t) => {
  const { posts, channels, doubtful, mute } = await workspace(t);
  const post = await doubtful({ body: 'Hello' });
  t.like(await posts.show(post), { status: 'failed', published_at: null });
  const sentAt = new Date(posts.deps.now().getTime() - longEnoughMs).toISOString();

  await posts.settle(post, channels.mute, there);

  const shown = await posts.show(post);
  t.like(shown, { status: 'published', published_at: sentAt });
  const settled = { status: 'published', url: there, error: null, error_code: null, body: 'Hello' };
  t.like(shown.channels[0], settled);
  t.deepEqual(await posts.events(post), ['post.failed', 'post.published']);
  await t.throwsAsync(posts.retry(post), { code: 'nothing_to_retry' });
  t.is(mute.sends.length, 1);
});

test('a post that is not there becomes failed, with a new event, and a retry sends it once', async (t) => {
  const { posts, channels, doubtful, goOn, mute } = await workspace(t);
  const post = await doubtful({ body: 'Hello' });
  mute.live.pop();

  await posts.settle(post, channels.mute, null);

  const shown = await posts.show(post);
  t.like(shown, { status: 'failed', published_at: null });
  t.like(shown.channels[0], { status: 'failed', url: null, error_code: 'not_published' });
  t.regex(shown.channels[0]?.error ?? '', /A retry sends it\.$/v);
  t.deepEqual(await posts.events(post), ['post.failed', 'post.failed']);

  t.deepEqual(await posts.retry(post), [channels.mute]);
  await goOn(post);
  t.like(await posts.show(post), { status: 'published', summary: { published: 1 } });
  t.is(mute.live.length, 1);
  t.is(mute.sends.length, 2);
  t.deepEqual(await posts.events(post), ['post.failed', 'post.failed', 'post.published']);
});

test('a post that is published elsewhere has a partial event until it is found', async (t) => {
  const { posts, channels, doubtful } = await workspace(t);
  const [absent, found] = [
    await doubtful({ body: 'One' }, { also: true }),
    await doubtful({ body: 'Two' }, { also: true }),
  ];
  const published = (await posts.show(found)).published_at;
  await posts.settle(absent, channels.mute, null);
  await posts.settle(found, channels.mute, there);
  t.deepEqual(await posts.events(absent), ['post.partial', 'post.partial']);
  t.deepEqual(await posts.events(found), ['post.partial', 'post.published']);
  t.is((await posts.show(found)).published_at, published);
});

test('null is refused until the network has certainly processed the request', async (t) => {
  const { posts, channels, publish, mute } = await workspace(t);
  const { post, claimed } = await publish({ body: 'Hello' });
  await posts.finalize(post, claimed);
  const appearsWithinMs = 60_000;
  Object.assign(mute.rules, { appearsWithinMs });
  posts.pass(appearsWithinMs - 1);
  const before = await posts.show(post);
  const refusal = {
    code: 'settle_too_early',
    message: /may still be processing it\. Try again after/v,
  };
  await t.throwsAsync(posts.settle(post, channels.mute, null), refusal);
  t.deepEqual(await posts.show(post), before);
  t.deepEqual(await posts.events(post), ['post.failed']);

  posts.pass(1);
  await posts.settle(post, channels.mute, null);
  t.like((await posts.show(post)).channels[0], { error_code: 'not_published' });
});

test('a post that has not ended uses the answer at its end, with one event', async (t) => {
  const { posts, channels, publish } = await workspace(t);
  for (const [answer, status, event] of [
    [there, 'published', 'post.published'],
    [null, 'failed', 'post.partial'],
  ] as const) {
    const { post, claimed } = await publish({ body: 'Hello' }, { also: true });
    posts.pass(longEnoughMs);

    await posts.settle(post, channels.mute, answer);

    t.is((await posts.show(post)).status, 'publishing');
    t.deepEqual(await posts.events(post), []);
    t.is((await posts.finalize(post, claimed)).status, status);
    t.deepEqual(await posts.events(post), [event]);
  }
});

test('a settled channel of a cancelled post keeps its outcome when the post is scheduled again', async (t) => {
  const { posts, channels, publish, goOn, clear, mute } = await workspace(t);
  const draft = async (answer: string | null): Promise<string> => {
    const busy = new NetworkError('network_unavailable', 'They are busy.', { accepted: 'no' });
    clear.fates.push({ kind: 'fails', error: busy });
    const { post, claimed } = await publish({ body: 'Hello' }, { also: true });
    await posts.cancel(post);
    await posts.finalize(post, claimed);
    posts.pass(longEnoughMs);
    await posts.settle(post, channels.mute, answer);
    t.like(await posts.show(post), { status: 'draft', summary: { pending: 1 } });
    t.deepEqual(await posts.events(post), []);
    return post;
  };
  for (const [answer, sends] of [
    [there, 0],
    [null, 1],
  ] as const) {
    const post = await draft(answer);
    const before = mute.sends.length;
    await posts.edit(post, { schedule_in_minutes: 0 });
    await goOn(post);
    t.is(mute.sends.length - before, sends);
    t.like(await posts.show(post), { status: 'published', summary: { published: 2 } });
    t.deepEqual(await posts.events(post), ['post.published']);
  }
});

const thread = ['One', 'Two', 'Three'];
const texts = ({ live }: FakeNetwork): string[] => live.map(({ text }) => text);

test('a thread whose last part was found is published, at the URL of its first part', async (t) => {
  const { posts, channels, mute, doubtful } = await workspace(t);
  const post = await doubtful({ thread }, { takenBefore: 2 });
  await posts.settle(post, channels.mute, there);
  const shown = await posts.show(post);
  t.is(shown.status, 'published');
  t.like(shown.channels[0], { status: 'published', url: mute.live[0]?.sent.url, body: 'One' });
  t.deepEqual(texts(mute), thread);
});

test('a thread with missing parts after the found one is failed, and a retry sends them', async (t) => {
  const { posts, channels, mute, doubtful, goOn } = await workspace(t);
  const post = await doubtful({ thread }, { takenBefore: 1 });

  await posts.settle(post, channels.mute, there);

  const [channel] = (await posts.show(post)).channels;
  t.like(channel, { status: 'failed', error_code: 'not_published' });
  t.is(
    channel?.error,
    `A person checked: the network has 2 of 3 parts. A retry sends the others. Live: ${mute.live[0]?.sent.url} ${there}`,
  );
  t.deepEqual(texts(mute), ['One', 'Two']);
  await posts.settle(post, channels.mute, there); // A repeated answer.
  posts.pass(1);
  await posts.settle(post, channels.mute, null);
  t.regex((await posts.show(post)).channels[0]?.error ?? '', /only 1 of 3 parts/v);
  posts.pass(1);
  await posts.settle(post, channels.mute, there);
  t.is((await posts.show(post)).channels[0]?.error, channel?.error);

  posts.pass(1);
  await posts.retry(post);
  await goOn(post);
  t.deepEqual(texts(mute), thread);
  t.is(mute.sends.length, 3);
  t.like(await posts.show(post), { status: 'published', summary: { published: 1 } });
});

test('if the found part cannot be located, no reply is sent and the part is not repeated', async (t) => {
  const { posts, channels, mute, doubtful, goOn } = await workspace(t);
  const post = await doubtful({ thread }, { takenBefore: 1 });
  mute.live.pop();
  await posts.settle(post, channels.mute, there);
  for (let round = 0; round < 2; round += 1) {
    await posts.retry(post);
    await goOn(post);
    const [channel] = (await posts.show(post)).channels;
    t.like(channel, { status: 'failed', error_code: 'not_published' });
    t.regex(channel?.error ?? '', /the rest cannot be posted as replies/v);
    t.deepEqual(texts(mute), ['One']);
    t.is(mute.sends.length, 2);
  }
});

/** A worker that hangs during a send, while its post has ended and a minute has passed. */
async function lateWorker(t: ExecutionContext) {
  const network = heldNetwork();
  const posts = await postSteps(t, { hanging: network }, database().url);
  const channel = posts.channels['hanging'] ?? '';
  const sending = { body: 'Hello', channel_ids: [channel], schedule_in_minutes: 0 };
  const post = await posts.create(sending);
  const claimed = await posts.claimOrThrow(post);
  const tried = posts.attempt(post, claimed.targets[0]?.postChannelId ?? '');
  await network.held();
  await posts.finalize(post, claimed);
  posts.pass(longEnoughMs);
  t.like((await posts.show(post)).channels[0], { status: 'unconfirmed' });
  const comesBack = async (): Promise<void> => {
    network.release();
    t.like(await tried, { kind: 'done', status: 'published' });
  };
  return { posts, network, channel, post, comesBack };
}

test('the late result of a worker takes precedence over the answer of a person', async (t) => {
  for (const answer of [null, there]) {
    const { posts, network, channel, post, comesBack } = await lateWorker(t);
    await posts.settle(post, channel, answer);
    posts.pass(1);
    await comesBack();
    const shown = await posts.show(post);
    t.is(shown.status, 'published');
    const { sent } = network.live[0] ?? {};
    t.like(shown.channels[0], { status: 'published', url: sent?.url, error: null });
    await t.throwsAsync(posts.settle(post, channel, elsewhere), { code: 'nothing_to_settle' });
    await t.throwsAsync(posts.retry(post), { code: 'nothing_to_retry' });
    t.is(network.sends.length, 1);
    const ends = answer === null ? ['post.failed', 'post.failed'] : ['post.failed'];
    t.deepEqual(await posts.events(post), [...ends, 'post.published']);
  }
});

test('a retry before such a late result does not send the post twice', async (t) => {
  const { posts, network, channel, post, comesBack } = await lateWorker(t);
  await posts.settle(post, channel, null);
  await posts.retry(post);
  await comesBack();
  const claimed = await posts.claim(post);
  if (claimed.kind === 'go') {
    await posts.attemptAll(post, claimed);
    await posts.finalize(post, claimed);
  }

  t.is(network.sends.length, 1);
  t.like(await posts.show(post), { status: 'published', summary: { published: 1 } });
});
