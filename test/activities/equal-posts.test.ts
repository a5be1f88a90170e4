import test, { type ExecutionContext } from 'ava';
import type { CreatePostBody } from '../../services/posts/post-request.ts';
import { deletePost } from '../../services/posts/delete-post.ts';
import { cannotTell, down, fakeNetwork, liveTexts, type FakeNetwork } from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';

const minute = 60_000;
const { newSteps } = onOneDatabase(test);

test('a lost post does not take the equal post that another post is just creating', async (t) => {
  const network = fakeNetwork(minute);
  const steps = await newSteps(t, { a: network });
  const lost = await steps.begin({ body: 'Hello' });
  network.fates.push({ kind: 'vanished' });
  t.like(await steps.attempt(lost.post, lost.id), { kind: 'again' });
  steps.pass(2 * minute);

  const other = await steps.begin({ body: 'Hello' });
  const { send } = network;
  network.send = async (...args) => {
    network.send = send;
    const sent = await send(...args);
    t.like(await steps.attempt(lost.post, lost.id), { kind: 'again', code: 'network_unavailable' });
    return sent; // The response arrives only now.
  };
  t.like(await steps.attempt(other.post, other.id), { kind: 'done', status: 'published' });
  steps.pass(2 * minute);
  t.like(await steps.attempt(lost.post, lost.id), { kind: 'done', status: 'published' });

  t.deepEqual(liveTexts(network), ['Hello', 'Hello']);
  const urls = await Promise.all(
    [lost, other].map(async ({ post }) => (await steps.show(post)).channels[0]?.url),
  );
  t.is(new Set(urls).size, 2);
  t.is(urls[1], network.live[0]?.sent.url);
});

/** Creates posts with one text on one account. */
async function account(t: ExecutionContext, network: FakeNetwork) {
  const steps = await newSteps(t, { a: network });
  const channel = steps.channels['a'] ?? '';
  const begin = (content: CreatePostBody = { body: 'Hello' }) => steps.begin(content);
  /** A post that ends unconfirmed because its network cannot tell. @param taken Parts that are accepted before that. */
  const doubtful = async (fate: 'lost' | 'vanished', content?: CreatePostBody, taken = 0) => {
    const begun = await begin(content);
    network.fates.push(...Array.from({ length: taken }, () => ({ kind: 'taken' }) as const));
    network.fates.push({ kind: fate });
    network.blind = cannotTell;
    t.like(await steps.attempt(begun.post, begun.id), { kind: 'done', status: 'unconfirmed' });
    await steps.finalize(begun.post, begun.go);
    network.blind = undefined;
    steps.pass(2 * minute);
    return begun;
  };
  /** A post that never arrived, and whose reconcile failed. */
  const lost = async () => {
    const begun = await begin();
    network.fates.push({ kind: 'vanished' });
    network.blind = down;
    t.like(await steps.attempt(begun.post, begun.id), { kind: 'again' });
    network.blind = undefined;
    return begun;
  };
  const urlOf = async (post: string) => (await steps.show(post)).channels[0]?.url;
  return { steps, channel, begin, doubtful, lost, urlOf };
}

/** The same address in another spelling. */
const typed = (url = ''): string =>
  url.replace('https://fake.example/', 'HTTPS://Fake.Example:443/');

for (const [how, spelled] of [
  ['as the network writes it', (url = '') => url],
  ['in another spelling', typed],
] as const) {
  test(`a lost post does not take an equal post that was settled as another one, by its address ${how}`, async (t) => {
    const network = fakeNetwork(minute);
    const { steps, channel, doubtful, lost, urlOf } = await account(t, network);
    const first = await lost();
    const other = await doubtful('lost');
    await steps.settle(other.post, channel, spelled(network.live[0]?.sent.url));

    t.like(await steps.attempt(first.post, first.id), { kind: 'done', status: 'published' });

    t.deepEqual(liveTexts(network), ['Hello', 'Hello']);
    t.is(await urlOf(other.post), network.live[0]?.sent.url);
    t.is(await urlOf(first.post), network.live[1]?.sent.url);
  });
}

test('a lost post does not take the live post of a deleted post, nor its address', async (t) => {
  const network = fakeNetwork(minute);
  const { steps, channel, begin, doubtful } = await account(t, network);
  const deleted = await begin();
  t.like(await steps.attempt(deleted.post, deleted.id), { kind: 'done', status: 'published' });
  await steps.finalize(deleted.post, deleted.go);
  const url = (await steps.show(deleted.post)).channels[0]?.url ?? '';
  const { workspaceId } = steps;
  const { live } = await deletePost(steps.deps, { workspaceId, postId: deleted.post });
  t.like(live, [{ url, confirmed: true }]);

  const lost = await begin();
  network.fates.push({ kind: 'vanished' });
  t.like(await steps.attempt(lost.post, lost.id), { kind: 'again' });
  steps.pass(2 * minute);
  t.like(await steps.attempt(lost.post, lost.id), { kind: 'done', status: 'published' });
  t.deepEqual(liveTexts(network), ['Hello', 'Hello']);
  t.not((await steps.show(lost.post)).channels[0]?.url, url);
  await steps.finalize(lost.post, lost.go);

  const { post } = await doubtful('vanished');
  await t.throwsAsync(steps.settle(post, channel, url), {
    code: 'nothing_to_settle',
    message: /belongs to a deleted post/v,
  });
});

test('the address of one post is refused for another, and accepted again for its own', async (t) => {
  const network = fakeNetwork(minute);
  const { steps, channel, doubtful, urlOf } = await account(t, network);
  const [found, missing] = [await doubtful('lost'), await doubtful('vanished')];
  const url = network.live[0]?.sent.url ?? '';
  await steps.settle(found.post, channel, url);

  const refusal = {
    code: 'nothing_to_settle',
    message: `This URL already belongs to post ${found.post} of this channel. Send the URL of this post, or null if it is not there.`,
  };
  await t.throwsAsync(steps.settle(missing.post, channel, url), refusal);
  await t.throwsAsync(steps.settle(missing.post, channel, typed(url)), refusal);
  t.is((await steps.show(missing.post)).channels[0]?.status, 'unconfirmed');

  await steps.settle(found.post, channel, url);
  t.is(await urlOf(found.post), url);
  await steps.settle(missing.post, channel, null);
  t.like((await steps.show(missing.post)).channels[0], { error_code: 'not_published' });
});

test('the address of any part of a thread is refused for another post, and accepted for the thread itself', async (t) => {
  const network = fakeNetwork(minute);
  const { steps, channel, begin, doubtful, urlOf } = await account(t, network);
  const whole = await begin({ thread: ['Whole', 'Last'] });
  await steps.attempt(whole.post, whole.id);
  await steps.finalize(whole.post, whole.go);
  const found = await doubtful('lost', { thread: ['One', 'Two'] }, 1);
  const missing = await doubtful('vanished');
  const urls = network.live.map(({ sent }) => sent.url);
  const [, , one = '', two = ''] = urls;
  await steps.settle(found.post, channel, two);

  for (const url of urls) {
    const refusal = { code: 'nothing_to_settle', message: /^This URL already belongs to post /v };
    await t.throwsAsync(steps.settle(missing.post, channel, url), refusal);
  }

  await steps.settle(found.post, channel, two); // The same request again.
  t.is(await urlOf(found.post), one);
});

test('when two users settle two posts with one address at the same moment, one is refused', async (t) => {
  const network = fakeNetwork(minute);
  const { steps, channel, doubtful } = await account(t, network);
  const posts = [await doubtful('lost'), await doubtful('vanished')];
  const url = network.live[0]?.sent.url ?? '';
  const settled = await Promise.allSettled(
    posts.map(({ post }) => steps.settle(post, channel, url)),
  );
  t.deepEqual(settled.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
});
