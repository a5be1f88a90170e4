import test from 'ava';
import type { ChannelStatus, PostStatus } from '../../../domain/statuses.ts';
import { sharedApi } from '../../support/kit.ts';
import { setStatus, storeChannel } from '../../support/seed.ts';

const api = sharedApi(test);

type Shown = { readonly channel_id: string; readonly status: string };

/** A workspace with channels, and posts on all of them. */
async function workspace(channelCount = 3) {
  const client = await api.newClient();
  const { workspaceId } = client;
  const channels: string[] = [];
  for (let n = 0; n < channelCount; n += 1) {
    channels.push(await storeChannel(api.punctual, workspaceId, { handle: `@${n}@x.test` }));
  }

  const post = { body: 'x', channel_ids: channels, schedule_in_minutes: 60 };
  /** Creates a post. @param statuses Of its channels. */
  const make = async (
    status: PostStatus = 'scheduled',
    statuses: readonly ChannelStatus[] = [],
  ): Promise<string> => {
    const { id } = (await client.post('/posts', post)).body.post;
    await setStatus(api.punctual, id, status, statuses);
    return id;
  };
  const withoutPlan = 'update workspaces set plan = null where id = ?';
  const endPlan = () => api.punctual.orm.em.fork().execute(withoutPlan, [workspaceId]);
  return { client, channels, make, endPlan };
}

const statusesOf = (channels: readonly Shown[]): string[] => channels.map(({ status }) => status);

test('a scheduled post that is cancelled is a draft without a time, and is not sent', async (t) => {
  const { client, make } = await workspace();
  const id = await make();
  const reply = await client.post(`/posts/${id}/cancel`);
  t.is(reply.status, 200);
  const { post } = (await client.get(`/posts/${id}`)).body;
  t.deepEqual(reply.body, { ok: true, id, still_sending: 0, post });
  t.like(post, { status: 'draft', scheduled_at: null, body: 'x' });
  t.deepEqual(statusesOf(post.channels), ['draft', 'draft', 'draft']);
  t.is((await client.post(`/posts/${id}/cancel`)).body.code, 'post_not_cancellable');
});

test('a cancel during publishing lets running sends finish, keeps published channels and stops the rest', async (t) => {
  const { client, make } = await workspace(5);
  const before = ['published', 'publishing', 'scheduled', 'retrying', 'failed'] as const;
  const id = await make('publishing', before);
  const reply = await client.post(`/posts/${id}/cancel`);
  const { post } = (await client.get(`/posts/${id}`)).body;
  t.deepEqual(reply.body, { ok: true, id, still_sending: 1, post });
  t.like(post, { status: 'draft', scheduled_at: null });
  t.deepEqual(statusesOf(post.channels), ['published', 'publishing', 'draft', 'draft', 'failed']);
  t.is(post.channels[0].url, 'https://social.test/0');
  t.like(post.channels[3], { retry_at: null, error: null, error_code: null });
});

test('a draft and a post that has ended cannot be cancelled', async (t) => {
  const { client, make } = await workspace();
  const states: [PostStatus, ChannelStatus][] = [
    ['draft', 'draft'],
    ['published', 'published'],
    ['failed', 'failed'],
    ['failed', 'unconfirmed'],
  ];
  for (const [status, channel] of states) {
    const id = await make(status, [channel, channel, channel]);
    const before = (await client.get(`/posts/${id}`)).body;
    const reply = await client.post(`/posts/${id}/cancel`);
    t.is(reply.status, 409, status);
    t.is(reply.body.code, 'post_not_cancellable', status);
    t.deepEqual((await client.get(`/posts/${id}`)).body, before);
  }
});

test('a cancelled post that is scheduled again keeps its published channels and does not send there again', async (t) => {
  const { client, channels, make } = await workspace();
  const [out, second, third] = channels;
  const id = await make('publishing', ['published', 'retrying', 'scheduled']);
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

test('a draft that is published on every channel cannot be scheduled', async (t) => {
  const { client, channels, make } = await workspace(2);
  const id = await make('publishing', ['published', 'scheduled']);
  await client.post(`/posts/${id}/cancel`);
  const reply = await client.patch(`/posts/${id}`, {
    channel_ids: [channels[0]],
    schedule_in_minutes: 60,
  });
  t.is(reply.status, 400);
  t.is(reply.body.code, 'no_channels');
  t.regex(reply.body.error, /^Every channel of the post has it, may have it/v);
});

test('a retry sends to the failed channels only, not to published and unconfirmed ones', async (t) => {
  const { client, channels, make } = await workspace();
  const id = await make('failed', ['published', 'failed', 'unconfirmed']);
  const before = (await client.get(`/posts/${id}`)).body.post;

  const reply = await client.post(`/posts/${id}/retry`);

  t.is(reply.status, 202);
  const { post } = (await client.get(`/posts/${id}`)).body;
  t.deepEqual(reply.body, { id, retrying: [channels[1]], post });
  t.is(post.outcome, null);
  t.like(post, {
    status: 'publishing',
    summary: { published: 1, failed: 1, pending: 1 },
  });
  t.deepEqual(post.channels[0], before.channels[0]);
  t.deepEqual(post.channels[2], before.channels[2]);
  t.like(post.channels[1], { status: 'publishing', retry_at: null });
});

test('a post that has not ended, or has no failed channel, cannot be retried', async (t) => {
  const { client, make } = await workspace();
  const states: [PostStatus, ChannelStatus[], RegExp][] = [
    ['draft', ['draft', 'draft', 'draft'], /is a draft; only one that has ended/v],
    ['scheduled', ['scheduled', 'scheduled', 'scheduled'], /is scheduled/v],
    ['publishing', ['failed', 'publishing', 'published'], /is publishing/v],
    ['publishing', ['failed', 'retrying', 'published'], /is publishing/v],
    ['published', ['published', 'published', 'published'], /^No channel of this post has failed/v],
    ['failed', ['published', 'unconfirmed', 'unconfirmed'], /^Unconfirmed: .* settle the channel/v],
  ];
  for (const [status, channels, words] of states) {
    const id = await make(status, channels);
    const before = (await client.get(`/posts/${id}`)).body;
    const reply = await client.post(`/posts/${id}/retry`);
    t.is(reply.status, 409, channels.join());
    t.is(reply.body.code, 'nothing_to_retry', channels.join());
    t.regex(reply.body.error, words, channels.join());
    t.deepEqual((await client.get(`/posts/${id}`)).body, before);
  }
});

test('a post that is being retried can be cancelled', async (t) => {
  const { client, make } = await workspace();
  const id = await make('failed', ['published', 'failed', 'failed']);
  await client.post(`/posts/${id}/retry`);
  const reply = await client.post(`/posts/${id}/cancel`);
  t.is(reply.status, 200);
  const { post } = (await client.get(`/posts/${id}`)).body;
  t.is(post.status, 'draft');
  t.deepEqual(statusesOf(post.channels), ['published', 'draft', 'draft']);
});

test('a post that has ended is not edited, and the refusal names a step that sends nothing twice', async (t) => {
  const { client, make } = await workspace(2);
  for (const [first, second, step] of [
    ['published', 'published', 'POST /posts/<id>/copy makes a draft of it.'],
    ['failed', 'failed', 'POST /posts/<id>/copy makes a draft of it.'],
    ['published', 'failed', 'POST /posts/<id>/copy with {"only": "failed"} makes a draft for'],
    ['failed', 'unconfirmed', 'settle the channel first (POST /posts/<id>/settle).'],
  ] as const) {
    const id = await make(second === 'published' ? 'published' : 'failed', [first, second]);
    const { body } = await client.patch(`/posts/${id}`, { body: 'y' });
    t.is(body.code, 'post_not_editable');
    t.true(body.error.includes(step.replace('<id>', id)), body.error);
  }
});
