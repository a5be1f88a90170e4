import test, { type ExecutionContext } from 'ava';
import type { ChannelStatus, PostStatus } from '../../../domain/post-status.ts';
import { newClient } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { storeChannel, setStatus } from '../../support/seed.ts';

type Shown = { readonly channel_id: string; readonly status: string };

async function world(t: ExecutionContext, count = 3) {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const channels: string[] = [];
  for (let n = 0; n < count; n += 1) {
    channels.push(await storeChannel(punctual, client.workspaceId, { handle: `@${n}@x.test` }));
  }

  const post = { body: 'x', channel_ids: channels, schedule_in_minutes: 60 };
  const schedule = async (
    status: PostStatus = 'scheduled',
    statuses: readonly ChannelStatus[] = [],
  ): Promise<string> => {
    const { id } = (await client.post('/posts', post)).body.post;
    await setStatus(punctual, id, status, statuses);
    return id;
  };
  return { punctual, client, channels, schedule };
}

const statusesOf = (channels: readonly Shown[]): string[] => channels.map(({ status }) => status);

test('a scheduled post that is cancelled is a draft without a time, and nothing of it is sent', async (t) => {
  const { client, schedule } = await world(t);
  const id = await schedule();
  const reply = await client.post(`/posts/${id}/cancel`);
  t.is(reply.status, 200);
  t.deepEqual(reply.body, { ok: true, id, still_sending: 0 });
  const { post } = (await client.get(`/posts/${id}`)).body;
  t.like(post, { status: 'draft', scheduled_at: null, body: 'x' });
  t.deepEqual(statusesOf(post.channels), ['draft', 'draft', 'draft']);
});

test('a cancel in the middle lets what is being sent finish, keeps what is out, and stops the rest', async (t) => {
  const { client, schedule } = await world(t, 5);
  const before = ['published', 'publishing', 'scheduled', 'retrying', 'failed'] as const;
  const id = await schedule('publishing', before);
  const reply = await client.post(`/posts/${id}/cancel`);
  t.deepEqual(reply.body, { ok: true, id, still_sending: 1 });
  const { post } = (await client.get(`/posts/${id}`)).body;
  t.like(post, { status: 'draft', scheduled_at: null });
  t.deepEqual(statusesOf(post.channels), ['published', 'publishing', 'draft', 'draft', 'failed']);
  t.is(post.channels[0].url, 'https://social.test/0');
  t.like(post.channels[3], { retry_at: null, error: null, error_code: null });
});

test('a cancel counts every channel that is being sent', async (t) => {
  const { client, schedule } = await world(t);
  const id = await schedule('publishing', ['publishing', 'publishing', 'publishing']);
  t.is((await client.post(`/posts/${id}/cancel`)).body.still_sending, 3);
});

test('a draft and a post that has ended cannot be cancelled', async (t) => {
  const { client, schedule } = await world(t);
  const states: [PostStatus, ChannelStatus][] = [
    ['draft', 'draft'],
    ['published', 'published'],
    ['failed', 'failed'],
    ['failed', 'unconfirmed'],
  ];
  for (const [status, channel] of states) {
    const id = await schedule(status, [channel, channel, channel]);
    const before = (await client.get(`/posts/${id}`)).body;
    const reply = await client.post(`/posts/${id}/cancel`);
    t.is(reply.status, 409, status);
    t.is(reply.body.code, 'post_not_cancellable', status);
    t.deepEqual((await client.get(`/posts/${id}`)).body, before);
  }
});

test('a second cancel is told that there is nothing left to stop', async (t) => {
  const { client, schedule } = await world(t);
  const id = await schedule();
  t.is((await client.post(`/posts/${id}/cancel`)).status, 200);
  t.is((await client.post(`/posts/${id}/cancel`)).body.code, 'post_not_cancellable');
});

test('a cancelled post that is scheduled again leaves out what is published, and keeps it on the post', async (t) => {
  const { client, channels, schedule } = await world(t);
  const [out, second, third] = channels;
  const id = await schedule('publishing', ['published', 'retrying', 'scheduled']);
  await client.post(`/posts/${id}/cancel`);

  const again = await client.patch(`/posts/${id}`, {
    channel_ids: [third],
    schedule_in_minutes: 60,
  });

  t.is(again.status, 200, JSON.stringify(again.body));
  const shown = new Map(again.body.post.channels.map((one: Shown) => [one.channel_id, one.status]));
  t.is(shown.get(out), 'published');
  t.is(shown.get(third), 'scheduled');
  t.false(shown.has(second));
  t.like(again.body.post, { status: 'scheduled', summary: { published: 1, pending: 1 } });
});

test('a draft of which every channel is published has nothing left to schedule', async (t) => {
  const { client, channels, schedule } = await world(t, 2);
  const id = await schedule('publishing', ['published', 'scheduled']);
  await client.post(`/posts/${id}/cancel`);
  const reply = await client.patch(`/posts/${id}`, {
    channel_ids: [channels[0]],
    schedule_in_minutes: 60,
  });
  t.is(reply.status, 400);
  t.is(reply.body.code, 'no_channels');
});

test('a cancel needs no plan', async (t) => {
  const { punctual, client, schedule } = await world(t);
  const id = await schedule();
  await punctual.orm.em.fork().execute('update workspaces set plan = null');
  t.is((await client.post(`/posts/${id}/cancel`)).status, 200);
});
