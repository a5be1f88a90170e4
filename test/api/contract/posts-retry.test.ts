import test, { type ExecutionContext } from 'ava';
import type { ChannelStatus, PostStatus } from '../../../domain/post-status.ts';
import { newClient } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { storeChannel, setStatus } from '../../support/seed.ts';

async function world(t: ExecutionContext) {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const channels: string[] = [];
  for (const handle of ['@a@x.test', '@b@x.test', '@c@x.test']) {
    channels.push(await storeChannel(punctual, client.workspaceId, { handle }));
  }

  const ended = async (status: PostStatus, statuses: readonly ChannelStatus[]): Promise<string> => {
    const post = { body: 'x', channel_ids: channels, schedule_in_minutes: 60 };
    const { id } = (await client.post('/posts', post)).body.post;
    await setStatus(punctual, id, status, statuses);
    return id;
  };
  return { punctual, client, channels, ended };
}

test('a retry sends to the failed channels only, and leaves the published and the unconfirmed alone', async (t) => {
  const { client, channels, ended } = await world(t);
  const id = await ended('failed', ['published', 'failed', 'unconfirmed']);
  const before = (await client.get(`/posts/${id}`)).body.post;

  const reply = await client.post(`/posts/${id}/retry`);

  t.is(reply.status, 202);
  t.deepEqual(reply.body, { id, retrying: [channels[1]] });
  const { post } = (await client.get(`/posts/${id}`)).body;
  t.like(post, { status: 'publishing', summary: { published: 1, failed: 1, pending: 1 } });
  t.deepEqual(post.channels[0], before.channels[0]);
  t.deepEqual(post.channels[2], before.channels[2]);
  t.like(post.channels[1], { status: 'scheduled', retry_at: null });
});

test('a retry of a post that failed everywhere sends to all of its channels', async (t) => {
  const { client, channels, ended } = await world(t);
  const id = await ended('failed', ['failed', 'failed', 'failed']);
  const { body } = await client.post(`/posts/${id}/retry`);
  t.deepEqual(new Set(body.retrying), new Set(channels));
});

test('a post that has not ended, or of which nothing failed, has nothing to retry', async (t) => {
  const { client, ended } = await world(t);
  const states: [PostStatus, ChannelStatus[]][] = [
    ['draft', ['draft', 'draft', 'draft']],
    ['scheduled', ['scheduled', 'scheduled', 'scheduled']],
    ['publishing', ['failed', 'publishing', 'published']],
    ['publishing', ['failed', 'retrying', 'published']],
    ['published', ['published', 'published', 'published']],
    ['failed', ['published', 'unconfirmed', 'unconfirmed']],
  ];
  for (const [status, channels] of states) {
    const id = await ended(status, channels);
    const before = (await client.get(`/posts/${id}`)).body;
    const reply = await client.post(`/posts/${id}/retry`);
    t.is(reply.status, 409, channels.join());
    t.is(reply.body.code, 'nothing_to_retry', channels.join());
    t.deepEqual((await client.get(`/posts/${id}`)).body, before);
  }
});

test('a cancelled post is retried by scheduling it, not by a retry', async (t) => {
  const { client, ended } = await world(t);
  const id = await ended('publishing', ['failed', 'scheduled', 'published']);
  await client.post(`/posts/${id}/cancel`);
  t.is((await client.post(`/posts/${id}/retry`)).body.code, 'nothing_to_retry');
});

test('a post that is being retried can be cancelled', async (t) => {
  const { client, ended } = await world(t);
  const id = await ended('failed', ['published', 'failed', 'failed']);
  await client.post(`/posts/${id}/retry`);
  const reply = await client.post(`/posts/${id}/cancel`);
  t.is(reply.status, 200);
  const { post } = (await client.get(`/posts/${id}`)).body;
  t.is(post.status, 'draft');
  t.deepEqual(
    post.channels.map(({ status }: { status: string }) => status),
    ['published', 'draft', 'draft'],
  );
});
