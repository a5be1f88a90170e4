import test from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { createSealer } from '../../runtime/secrets.ts';
import { beforeTests } from '../support/before-tests.ts';
import { freshDatabase } from '../support/database.ts';
import { processedPost, processingNetwork } from './processing-network.ts';

const minute = 60_000;
const day = 24 * 60 * minute;
const database = beforeTests(test, freshDatabase);

test('a channel that loses access while its network processes a post is told of it once, and the post waits for it', async (t) => {
  const network = processingNetwork();
  const { channel, post } = await processedPost(t, network, database().url);
  await post.attempt();
  network.says = new NetworkError('access_lost', 'The token was revoked.', { taken: 'unknown' });
  const { deps, channelId } = channel;
  const rows = (statement: string) => deps.orm.em.fork().execute(statement, [channelId]);
  for (let looks = 0; looks < 3; looks += 1) {
    channel.pass(10 * minute);
    t.like(await post.attempt(), { kind: 'again', code: 'processing' });
    const { error, status } = await post.row();
    t.is(status, 'retrying');
    t.true(error?.includes(network.live[0]?.sent.url ?? '?'), error ?? '');
    t.regex(
      error ?? '',
      /The token was revoked\. Connect the channel again\. The network is asked/v,
    );
  }

  const [state] = await rows('select state, error from channels where id = ?');
  t.is(state?.state, 'needs_reconnect');
  t.is((await rows('select id from events where channel_id = ?')).length, 1);
  await rows(`update channels set state = 'connected' where id = ?`);
  network.says = { kind: 'ready' };
  channel.pass(15 * minute);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.like(await post.row(), { error: null, tries: 0 });
  t.is(network.sends.length, 1);
});

test('a post whose channel is not connected again by the end of its day counts as published, and says where it is', async (t) => {
  const network = processingNetwork();
  const { channel, post } = await processedPost(t, network, database().url);
  await post.attempt();
  network.says = new NetworkError('access_lost', 'The token was revoked.', { taken: 'unknown' });
  channel.pass(day + minute);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  const { url, sentWarning } = await post.row();
  t.is(url, network.live[0]?.sent.url ?? null);
  t.regex(sentWarning ?? '', /The network has taken this post.*The token was revoked/v);
  t.is(network.sends.length, 1);
});

test('a fault of ours while a network processes a post changes nothing about the post, and ends with its day', async (t) => {
  const network = processingNetwork();
  const { channel, post } = await processedPost(t, network, database().url);
  await post.attempt();
  const broken = () => channel.newWorker({ sealer: createSealer('ab'.repeat(32)) });
  channel.pass(10 * minute);
  t.like(await post.attempt(broken()), { kind: 'again', code: 'processing' });
  channel.pass(day);
  t.like(await post.attempt(broken()), { kind: 'done', status: 'published' });
  t.is(network.sends.length, 1);
});
