import test, { type ExecutionContext } from 'ava';
import { noOptions } from '../../networks/content-rules.ts';
import { NetworkError } from '../../networks/network.ts';
import { beforeTests } from '../support/before-tests.ts';
import { freshDatabase } from '../support/database.ts';
import { type FakeNetwork, fakeNetwork, interrupt, liveTexts } from '../support/networks.ts';
import { processedPost, processingNetwork } from './processing-network.ts';

const minute = 60_000;
const day = 24 * 60 * minute;
const database = beforeTests(test, freshDatabase);

const newPost = (t: ExecutionContext, network: FakeNetwork, ...texts: readonly string[]) =>
  processedPost(t, network, database().url, ...texts);

test('a channel is published when its network shows the post, and processing until then', async (t) => {
  const network = processingNetwork();
  const { channel, post } = await newPost(t, network);

  t.deepEqual(await post.attempt(), { kind: 'again', code: 'processing', inMs: minute });
  t.like(await post.row(), { status: 'retrying', errorCode: 'processing', publishedAt: null });
  t.regex((await post.row()).error ?? '', /is still processing it. The next check is at/);
  channel.pass(minute);
  t.like(await post.attempt(), { kind: 'again', code: 'processing' });
  network.says = { kind: 'ready', warning: 'It is private.' };
  channel.pass(minute);

  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  const row = await post.row();
  t.like(row, { status: 'published', error: null, errorCode: null, tries: 0 });
  t.is(row.sentWarning, 'It is private.');
  t.is(row.url, network.live[0]?.sent.url ?? null);
  t.deepEqual([network.sends.length, network.polls], [1, 3]);
});

test('a rejected post also discards the parts that continued it: a retry sends the whole thread', async (t) => {
  const network = processingNetwork();
  const { channel, post, parts } = await newPost(t, network, 'One', 'Two');
  await post.attempt();
  network.says = new NetworkError('media_refused', 'The codec is unknown.', { accepted: 'no' });
  channel.pass(minute);
  t.like(await post.attempt(), { kind: 'done', status: 'failed' });
  const row = await post.row();
  t.regex(row.error ?? '', /^The codec is unknown\. /);
  t.is((await parts()).map(({ state }) => state).join(), 'refused,refused');

  const em = channel.deps.orm.em.fork();
  await em.execute(`update posts set run = run + 1, status = 'publishing' where id = ?`, [
    post.postId,
  ]);
  await em.execute(`update post_channels set status = 'scheduled' where id = ?`, [row.id]);
  network.says = { kind: 'ready' };
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.deepEqual(liveTexts(network), ['One', 'Two', 'One', 'Two']);
});

test('a cancel while the network processes the post leaves it published, because it was sent', async (t) => {
  const network = processingNetwork();
  const { channel, post } = await newPost(t, network);
  await post.attempt();
  const em = channel.deps.orm.em.fork();
  await em.execute(`update posts set status = 'draft' where id = ?`, [post.postId]);
  channel.pass(minute);
  t.like(await post.attempt(), { kind: 'again', code: 'processing' });
  network.says = { kind: 'ready' };
  channel.pass(minute);

  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.like(await post.row(), { status: 'published', url: network.live[0]?.sent.url ?? '' });
  t.is(network.sends.length, 1);
});

test('a post that is still processing after a day is published, with a warning', async (t) => {
  const network = processingNetwork();
  const { channel, post } = await newPost(t, network);
  network.says = { kind: 'processing', checkAfterMs: 3 * day };
  const { inMs = 0 } = { inMs: null, ...(await post.attempt()) };
  t.true(inMs !== null && inMs > day - minute && inMs <= day + minute, `asked again in ${inMs} ms`);
  channel.pass(inMs ?? 0);

  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.regex((await post.row()).sentWarning ?? '', /has not finished processing/);
});

test('an upload resumes where a killed worker stopped, and its saved state is sealed', async (t) => {
  const network = fakeNetwork();
  const { channel, post, parts } = await newPost(t, network);
  const found: unknown[] = [];
  const { upload } = network;
  network.upload = async (connection, step) => {
    const [part] = step.parts;
    if (part) {
      found.push(connection.uploadsOf(part));
      await connection.saveUploads(part, { session: 'https://up.example/secret', bytes: 60 });
      found.push(connection.uploadsOf(part));
    }

    return upload(connection, step);
  };
  interrupt(network, 'send', () => Promise.reject(new Error('killed')));
  await post.attempt();
  const [kept] = await parts();
  t.truthy(kept?.sealedUploads);
  t.false(JSON.stringify(kept).includes('up.example'));
  channel.pass(10 * minute);
  await post.attempt();

  const session = { session: 'https://up.example/secret', bytes: 60 };
  t.deepEqual(found.slice(0, 3), [null, session, session]);
  t.deepEqual(liveTexts(network), ['A film']);
});

test('a first comment goes out once, also when the attempt dies between the post and the comment', async (t) => {
  const network = fakeNetwork();
  Object.assign(network.rules, { threads: false, comments: true, options: noOptions });
  const { channel, post } = await newPost(t, network, 'The post');
  const { id } = await post.row();
  await channel.deps.orm.em
    .fork()
    .execute(`update post_channels set options = '{"first_comment": "The comment"}' where id = ?`, [
      id,
    ]);
  const { send } = network;
  network.send = async (connection, step, files) => {
    const sent = await send(connection, step, files);
    network.send = async () => {
      network.send = send;
      throw new Error('killed');
    };
    return sent;
  };
  await post.attempt();
  channel.pass(10 * minute);
  await post.attempt();
  channel.pass(10 * minute);
  await post.attempt();

  t.deepEqual(liveTexts(network), ['The post', 'The comment']);
  t.like(await post.row(), { status: 'published', sentText: 'The post' });
});

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
  t.is((await parts()).map(({ state }) => state).join(), 'sent,sent');
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
  t.is((await parts()).map(({ state }) => state).join(), 'refused,ready');
});
