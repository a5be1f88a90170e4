import test, { type ExecutionContext } from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { beforeTests } from '../support/before-tests.ts';
import { freshDatabase } from '../support/database.ts';
import { type FakeNetwork, liveTexts } from '../support/networks.ts';
import { processedPost, processingNetwork } from './processing-network.ts';

const minute = 60_000;
const database = beforeTests(test, freshDatabase);

const newPost = (t: ExecutionContext, network: FakeNetwork, ...texts: readonly string[]) =>
  processedPost(t, network, database().url, ...texts);

/** A network that publishes the second part as a comment on the first. */
const commentedNetwork = () => {
  const network = processingNetwork();
  return Object.assign(network, { rules: { ...network.rules, comments: true } });
};

test('a comment is sent once its post is visible, and not before', async (t) => {
  const network = commentedNetwork();
  const { channel, post, parts } = await newPost(t, network, 'A film', 'First!');
  t.deepEqual(await post.attempt(), { kind: 'again', code: 'processing', inMs: minute });
  t.like(await post.row(), { status: 'retrying', errorCode: 'processing' });
  t.deepEqual(liveTexts(network), ['A film']);
  channel.pass(minute);
  t.like(await post.attempt(), { kind: 'again', code: 'processing' });
  t.deepEqual(liveTexts(network), ['A film']);

  network.says = { kind: 'ready', warning: 'It is small.' };
  channel.pass(minute);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.deepEqual(liveTexts(network), ['A film', 'First!']);
  t.deepEqual(
    (await parts()).map(({ state }) => state),
    ['sent', 'sent'],
  );
  const row = await post.row();
  t.like(row, { status: 'published', tries: 0, sentWarning: 'It is small.' });
  t.is(network.polls, 4, 'each attempt checks the film once, and the comment once');
});

test('a post that the network rejects after processing gets no comment', async (t) => {
  const network = commentedNetwork();
  const { channel, post, parts } = await newPost(t, network, 'A film', 'First!');
  await post.attempt();
  network.says = new NetworkError('media_refused', 'The codec is unknown.', { accepted: 'no' });
  channel.pass(minute);
  t.like(await post.attempt(), { kind: 'done', status: 'failed', code: 'media_refused' });
  t.regex((await post.row()).error ?? '', /The codec is unknown\./);
  t.is(network.sends.length, 1);
  t.deepEqual(
    (await parts()).map(({ state }) => state),
    ['refused', 'ready'],
  );
});

test('a comment whose response is lost is not sent twice while its post is processed', async (t) => {
  const network = commentedNetwork();
  const { channel, post } = await newPost(t, network, 'A film', 'First!');
  await post.attempt();
  network.says = { kind: 'ready' };
  network.fates.push({ kind: 'lost' });
  channel.pass(minute);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.deepEqual(liveTexts(network), ['A film', 'First!']);
  t.is(network.sends.length, 2);
});
