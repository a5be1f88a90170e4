import test from 'ava';
import type { ChannelStatus, PostStatus } from '../../../domain/statuses.ts';
import { postWorkflowId } from '../../../workflows/messages.ts';
import { status } from '../../support/answers.ts';
import { fails, fakeNetwork } from '../../support/networks.ts';
import { endedPost, fakeChannel, setStatus } from '../../support/seed.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { storedRows } from '../../support/stored-rows.ts';
import { untilAsleep } from '../../support/waits.ts';
import { sharedWebhooks } from '../../support/webhooks.ts';
import { limit } from '../quotas/limited.ts';

const api = sharedWebhooks(test, { workers: true });
const execute = (
  statement: string,
  values: readonly unknown[],
): Promise<Record<string, unknown>[]> => api.punctual.orm.em.fork().execute(statement, [...values]);

const workflowOf = (postId: string) =>
  api.punctual.temporal.client.workflow.getHandle(postWorkflowId(postId));

/** A workspace with two channels on a network. */
async function workspace() {
  const client = await api.newClient();
  const { workspaceId } = client;
  const network = fakeNetwork();
  const [a, b] = [
    await fakeChannel(api.punctual, workspaceId, network),
    await fakeChannel(api.punctual, workspaceId, fakeNetwork()),
  ];
  const create = async (more: object = {}): Promise<string> => {
    const made = await client.post('/posts', { body: 'x', channel_ids: [a, b], ...more });
    return String(made.body.post.id);
  };
  /** What is left of posts. Events and entries of the audit log stay. */
  const rows = async () => {
    const { audit_log: _, events: __, ...others } = await storedRows(api.punctual.orm, workspaceId);
    return others;
  };
  return { client, network, a, b, create, rows };
}

/** Adds a row to the ledger of the post's first channel. */
const storePart = (postId: string, state: string, ageSeconds: number): Promise<unknown> =>
  execute(
    `insert into post_parts (id, workspace_id, post_channel_id, channel_id, run, part, key, state, text, remote_data,
        remote_id, url, sending_at, created_at, updated_at)
      select gen_random_uuid(), workspace_id, id, channel_id, 1, 0, 'key', ?, 'words', '{}', case when ? = 'sent' then id::text end,
        case when ? = 'sent' then 'https://social.test/part' end, clock_timestamp() - ? * interval '1 s', now(), now()
      from post_channels where post_id = ? and position = 0`,
    [state, state, state, ageSeconds, postId],
  );

type State = {
  readonly post: PostStatus;
  readonly channels: readonly ChannelStatus[];
  readonly part?: readonly [state: string, ageSeconds: number];
};

const deletable: readonly (State & { readonly live: readonly object[] })[] = [
  { post: 'draft', channels: ['draft', 'draft'], live: [] },
  { post: 'scheduled', channels: ['scheduled', 'scheduled'], live: [] },
  { post: 'publishing', channels: ['failed', 'retrying'], live: [] },
  {
    post: 'published',
    channels: ['published', 'published'],
    live: [
      { url: 'https://social.test/0', confirmed: true },
      { url: 'https://social.test/1', confirmed: true },
    ],
  },
  {
    post: 'failed',
    channels: ['unconfirmed', 'failed'],
    live: [{ url: null, confirmed: false }],
  },
  {
    post: 'draft',
    channels: ['draft', 'draft'],
    part: ['sent', 600],
    live: [{ url: 'https://social.test/part', confirmed: true }],
  },
  {
    post: 'failed',
    channels: ['unconfirmed', 'failed'],
    part: ['sending', 600],
    live: [{ url: null, confirmed: false }],
  },
];

for (const { post, channels, part, live } of deletable) {
  test(`a ${post} post (${[...channels, ...(part ?? [])].join(', ')}) is deleted, and the answer names what stays live`, async (t) => {
    const { client, create, rows } = await workspace();
    const media = await storeMedia(api.punctual, client.workspaceId);
    const before = await rows();
    const id = await create({ media_ids: [media], schedule_in_minutes: 60 });
    await setStatus(api.punctual, id, post, channels);
    await (part && storePart(id, ...part));
    const { post: shown } = (await client.get(`/posts/${id}`)).body;

    const reply = await client.delete(`/posts/${id}`);

    t.like(reply.body, { ok: true, id, live });
    t.deepEqual([reply.body.post, reply.body.live.length], [shown, live.length]);
    t.deepEqual(await rows(), { ...before, post_parts: part ? 1 : 0 });
    for (const call of ['', '/cancel', '/retry', '/copy']) {
      const again = await (call === ''
        ? client.get(`/posts/${id}`)
        : client.post(`/posts/${id}${call}`, {}));
      t.is(again.status, 404, call);
    }
    t.is((await client.patch(`/posts/${id}`, { body: 'y' })).status, 404);
    t.is((await client.delete(`/posts/${id}`)).status, 404);
    t.deepEqual((await client.get('/posts')).body.posts, []);
    t.is((await client.delete(`/media/${media}`)).status, 200, 'the file is unused');
  });
}

const beingSent: readonly (State & { readonly why: string })[] = [
  { why: 'a request is under way', post: 'publishing', channels: ['publishing', 'scheduled'] },
  { why: 'its final event is not recorded', post: 'publishing', channels: ['published', 'failed'] },
  { why: 'a cancelled channel is finishing', post: 'draft', channels: ['publishing', 'draft'] },
  {
    why: 'a retry has to ask the network first',
    post: 'publishing',
    channels: ['retrying', 'published'],
    part: ['sending', 600],
  },
  {
    why: 'the network processes it',
    post: 'publishing',
    channels: ['retrying', 'published'],
    part: ['sent', 600],
  },
  {
    why: 'it may still appear',
    post: 'failed',
    channels: ['unconfirmed', 'published'],
    part: ['sending', 5],
  },
];

for (const { why, post, channels, part } of beingSent) {
  test(`a ${post} post is not deleted while ${why}`, async (t) => {
    const { client, create, rows } = await workspace();
    const id = await create({ schedule_in_minutes: 60 });
    // A workflow that started with the new state would finish the cancelled channel. One that sleeps leaves it.
    await untilAsleep(workflowOf(id));
    await setStatus(api.punctual, id, post, channels);
    await (part && storePart(id, ...part));
    const [shown, stored] = [await client.get(`/posts/${id}`), await rows()];
    const reply = await client.delete(`/posts/${id}`);
    t.is(reply.status, 409, JSON.stringify(reply.body));
    t.is(reply.body.code, 'post_being_sent');
    t.is(/^Unconfirmed: .*settle/v.test(reply.body.error), post === 'failed');
    t.deepEqual((await client.get(`/posts/${id}`)).body, shown.body);
    t.deepEqual(await rows(), stored);
  });
}

test('the workflow of a deleted post ends before its time', async (t) => {
  const { client, network, create } = await workspace();
  const id = await create({ schedule_in_minutes: 60 });
  const handle = workflowOf(id);
  await untilAsleep(handle);
  t.is((await client.delete(`/posts/${id}`)).status, 200);
  t.is(await handle.result(), 'stopped');
  t.deepEqual(network.sends, []);
});

test('the events of a deleted post are still delivered', async (t) => {
  const { client, path, receiver } = await api.subscribe(status(204));
  const network = fakeNetwork();
  network.fates.push(fails('content_refused'));
  const channel = await fakeChannel(api.punctual, client.workspaceId, network);
  const post = { body: 'x', channel_ids: [channel], schedule_in_minutes: 0 };
  const { id } = (await client.post('/posts', post)).body.post;
  await client.finalPost(id);
  t.is((await client.delete(`/posts/${id}`)).status, 200);
  t.is(JSON.parse((await receiver.nth(1)).body).data.post.id, id);
  t.is((await client.get(`${path}/deliveries`)).body.deliveries.length, 1);
});

test('a deleted post gives its quota back', async (t) => {
  const { client, create } = await workspace();
  const used = async () => {
    const sum = 'select text_used::int as bytes from workspaces where id = ?';
    return (await execute(sum, [client.workspaceId]))[0]?.['bytes'];
  };
  await limit(api.punctual, client, { drafts: 1 });
  const id = await create({ channel_bodies: {}, body: 'ü'.repeat(100) });
  t.is(await used(), 200);
  t.is((await client.post('/posts', { body: 'x' })).status, 402);
  await client.delete(`/posts/${id}`);
  t.is(await used(), 0);
  t.is((await client.post('/posts', { body: 'x' })).status, 201);
});

test('a copy is a draft with the texts, options and files of the post', async (t) => {
  const { client, a, b } = await workspace();
  const [first, second, cover] = [
    await storeMedia(api.punctual, client.workspaceId),
    await storeMedia(api.punctual, client.workspaceId),
    await storeMedia(api.punctual, client.workspaceId),
  ];
  const made = await client.post('/posts', {
    thread: ['One', { text: 'Two', media_ids: [second], alt_texts: { [second]: 'In part two' } }],
    media_ids: [first],
    alt_texts: { [first]: 'For this post' },
    channel_ids: [b, a],
    channel_bodies: { [a]: 'For a' },
    channel_options: { [a]: { note: 'for a', cover } },
    video: { title: 'Title', privacy: 'unlisted' },
    schedule_in_minutes: 60,
  });
  t.is(made.status, 201, JSON.stringify(made.body));
  const { post } = made.body;
  await setStatus(api.punctual, post.id, 'published', ['published', 'published']);

  const reply = await client.post(`/posts/${post.id}/copy`, {});

  t.is(reply.status, 201, JSON.stringify(reply.body));
  const copy = reply.body.post;
  t.is(reply.headers.get('location'), `/api/v1/posts/${copy.id}`);
  t.not(copy.id, post.id);
  const { thread, media, thread_media, video, warning } = post;
  t.like(copy, { status: 'draft', scheduled_at: null, published_at: null, warning });
  t.deepEqual([copy.thread, copy.video], [thread, video]);
  t.deepEqual([copy.media, copy.thread_media], [media, thread_media]);
  const shown = ({ channels }: typeof post) =>
    channels.map(({ channel_id, body, options }: typeof post) => ({ channel_id, body, options }));
  t.deepEqual(shown(copy), shown(post));
  t.is((await client.patch(`/posts/${copy.id}`, { schedule_in_minutes: 60 })).status, 200);
});

test('a copy of the failed channels leaves out the others and warns of live parts, and a copy without failed channels is refused', async (t) => {
  const { client, a, b } = await workspace();
  const partly = new Map([[a, 'failed' as const], [b, 'published' as const]]); // prettier-ignore
  const id = await endedPost(api.punctual, client, partly);
  await storePart(id, 'sent', 600);
  const reply = await client.post(`/posts/${id}/copy`, { only: 'failed' });
  const channelsOf = (post: { channels: { channel_id: string }[] }) =>
    post.channels.map((channel) => channel.channel_id);
  t.deepEqual(channelsOf(reply.body.post), [a]);
  t.regex(reply.body.post.warning, /live on .* https:\/\/social\.test\/part\. .* sends it again/v);

  const doubtful = await endedPost(api.punctual, client, new Map([[a, 'unconfirmed']]));
  const refused = await client.post(`/posts/${doubtful}/copy`, { only: 'failed' });
  t.is(refused.status, 409);
  t.is(refused.body.code, 'nothing_to_copy');
  t.regex(refused.body.error, /^Unconfirmed: .* settle the channel first/v);
  t.is((await client.post(`/posts/${doubtful}/copy`)).status, 201, 'without a body');
  await setStatus(api.punctual, id, 'publishing', ['publishing', 'published']);
  const { error } = (await client.post(`/posts/${id}/copy`, { only: 'failed' })).body;
  t.is(error, 'The post is publishing, and no channel has failed so far. Wait for its end.');
});

test('a copy leaves out disconnected channels and deleted files, and names them', async (t) => {
  const { client, a, b, create } = await workspace();
  const media = await storeMedia(api.punctual, client.workspaceId);
  const id = await create({ media_ids: [media] });
  await setStatus(api.punctual, id, 'published', ['published', 'published']);
  await client.delete(`/channels/${a}`);
  await client.delete(`/media/${media}`);
  const { post } = (await client.post(`/posts/${id}/copy`, {})).body;
  t.deepEqual(post.media, []);
  t.is(post.channels.length, 1);
  t.true(post.warning.includes(a));
  t.regex(post.warning, /Files of the copied post were deleted: /v);

  await client.delete(`/channels/${b}`);
  const refused = await client.post(`/posts/${id}/copy`, {});
  t.is(refused.status, 409);
  t.regex(refused.body.error, /was disconnected/v);
});
