import test from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { createSealer } from '../../runtime/secrets.ts';
import { beforeTests } from '../support/before-tests.ts';
import { freshDatabase } from '../support/database.ts';
import { processedPost, processingNetwork } from './processing-network.ts';

const minute = 60_000;
const day = 24 * 60 * minute;
const database = beforeTests(test, freshDatabase);

test('a channel that loses access while its network processes a post sends one event, and the post waits for it', async (t) => {
  const network = processingNetwork();
  const { channel, post } = await processedPost(t, network, database().url);
  await post.attempt();
  network.says = new NetworkError('access_lost', 'The token was revoked.', { accepted: 'unknown' });
  const { deps, channelId } = channel;
  const rows = (statement: string) => deps.orm.em.fork().execute(statement, [channelId]);
  for (let polls = 0; polls < 3; polls += 1) {
    channel.pass(10 * minute);
    t.like(await post.attempt(), { kind: 'again', code: 'processing' });
    const { error, status } = await post.row();
    t.is(status, 'retrying');
    t.true(error?.includes(network.live[0]?.sent.url ?? '?'), error ?? '');
    t.regex(
      error ?? '',
      /The token was revoked\. Connect the channel again\. The next check is at/v,
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

test('a processing post whose channel is not reconnected within a day ends as published, with its address', async (t) => {
  const network = processingNetwork();
  const { channel, post } = await processedPost(t, network, database().url);
  await post.attempt();
  network.says = new NetworkError('access_lost', 'The token was revoked.', { accepted: 'unknown' });
  channel.pass(day + minute);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  const { url, sentWarning } = await post.row();
  t.is(url, network.live[0]?.sent.url ?? null);
  t.regex(sentWarning ?? '', /The network has accepted this post.*The token was revoked/v);
  t.is(network.sends.length, 1);
});

test('an internal error while a network processes a post does not change the post, which ends after a day', async (t) => {
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
