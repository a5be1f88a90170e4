import test from 'ava';
import { NetworkError } from '../../../networks/network.ts';
import { newClient, type Client } from '../../support/client.ts';
import { beforeTests } from '../../support/kit.ts';
import { fakeNetwork, fakeNetworks } from '../../support/networks.ts';
import { startApi, type Punctual } from '../../support/punctual.ts';
import { poll } from '../../support/poll.ts';
import { rawCall } from '../../support/raw-call.ts';
import { startReceiver } from '../../support/receiver.ts';
import { endedPost, fakeChannel, storeChannel } from '../../support/seed.ts';
import { adminOf, areRefused, uiUrl } from './admin.ts';
import { publish } from './ended-posts.ts';

// `post list` and `post show`.

const shared = beforeTests(test, async (scope) => {
  const receiver = await startReceiver(scope);
  const options = { networks: fakeNetworks, allowPorts: [receiver.port] };
  return { receiver, punctual: await startApi(scope, options) };
});

/** A workspace with a channel. */
async function member(punctual: Punctual) {
  const client = await newClient(punctual);
  return { client, channel: await storeChannel(punctual, client.workspaceId) };
}

/** A scheduled post that was due this many seconds ago. */
async function latePost(
  { orm }: Punctual,
  client: Client,
  channel: string,
  seconds: number,
): Promise<string> {
  const post = { body: 'x', channel_ids: [channel], schedule_in_minutes: 60 };
  const { id } = (await client.post('/posts', post)).body.post;
  const sql = `update posts set scheduled_at = now() - ? * interval '1 second' where id = ?`;
  await orm.em.fork().execute(sql, [seconds, id]);
  return id;
}

async function listedIds(punctual: Punctual, ...words: string[]): Promise<string[]> {
  const { data } = await adminOf(punctual).call('post', 'list', ...words);
  return data.posts.map((post: { id: string }) => post.id);
}

// Its own database, because posts are listed over all workspaces.
test('overdue posts of all workspaces are listed, the most overdue first, without posts that are just due', async (t) => {
  const punctual = await startApi(t);
  const { call } = adminOf(punctual);
  t.is((await call('post', 'list', '--overdue')).text, 'No post is overdue.');
  const [one, other] = [await member(punctual), await member(punctual)];
  const minutes = await latePost(punctual, one.client, one.channel, 300);
  const hours = await latePost(punctual, other.client, other.channel, 7200);
  await latePost(punctual, one.client, one.channel, 1);
  await latePost(punctual, one.client, one.channel, -60);

  t.deepEqual(await listedIds(punctual, '--overdue'), [hours, minutes]);
  const { workspaceId } = one.client;
  t.deepEqual(await listedIds(punctual, '--overdue', '--workspace', workspaceId), [minutes]);
  const { data, text } = await call('post', 'list', '--overdue', '--limit', '1');
  t.is(data.has_more, true);
  t.like(data.posts[0], { id: hours, status: 'scheduled' });
  t.like(data.posts[0].channels[0], { channel_id: other.channel, status: 'scheduled' });
  t.regex(text, new RegExp(`^${hours}  scheduled, due .*Z  workspace`, 'v'));
  t.regex(text, /There are more: give a higher --limit/v);

  await punctual.orm.em
    .fork()
    .execute(
      `update post_channels set status = 'retrying', error_code = 'network_unavailable' where post_id = ?`,
      [hours],
    );
  const ask = () => rawCall(`${punctual.url}/status`);
  const { overdue_posts, late } = (await poll(ask, ({ body }) => body.backlog)).body.backlog;
  t.true(overdue_posts === 1 && late.oldest_seconds >= 7200 && late.oldest_seconds < 7800);
  const retrying = { reason: 'retrying', code: 'network_unavailable', platform: 'mastodon' };
  t.like(late, { posts: 2, channels: [retrying, { reason: 'waiting', code: null }] });
  const after = (await call('post', 'list', '--overdue')).text;
  t.regex(after, /\nOverdue posts: 2, .* 120 min.*\n {4}retrying network_un.*: 1, .*\n {4}wai/v);

  const ended = `update post_channels set status = 'published' where post_id = ?`;
  await punctual.orm.em.fork().execute(ended, [hours]);
  t.regex(
    (await call('post', 'list', '--overdue')).text,
    /\n {4}finishing mastodon: 1, .*\n {4}waiting/v,
  );
});

// Its own database, because posts are listed over all workspaces.
test('failed and unconfirmed posts are listed, the last ended first, with the affected channels', async (t) => {
  const punctual = await startApi(t);
  const { call } = adminOf(punctual);
  const { client, channel } = await member(punctual);
  const out = await storeChannel(punctual, client.workspaceId);
  t.is((await call('post', 'list', '--failed')).text, 'No post has failed.');
  t.is((await call('post', 'list', '--unconfirmed')).text, 'No channel is unconfirmed.');
  const ended = (status: 'failed' | 'unconfirmed') =>
    endedPost(punctual, client, new Map([[channel, status] as const, [out, 'published'] as const]));
  const [first, second, unconfirmed] = [
    await ended('failed'),
    await ended('failed'),
    await ended('unconfirmed'),
  ];
  await endedPost(punctual, client, new Map([[out, 'published']]));
  await punctual.orm.em
    .fork()
    .execute(`update posts set updated_at = updated_at + interval '1 hour' where id = ?`, [first]);

  t.deepEqual(await listedIds(punctual, '--failed'), [first, unconfirmed, second]);
  t.deepEqual(await listedIds(punctual, '--unconfirmed'), [unconfirmed]);
  const { data } = await call('post', 'list', '--unconfirmed');
  t.like(data, { has_more: false, posts: [{ status: 'failed', outcome: 'unconfirmed' }] });
  t.is(data.posts[0].channels.length, 1);
  t.like(data.posts[0].channels[0], { channel_id: channel, error_code: 'unconfirmed' });
});

type Step = { readonly at: string; readonly what: string };

/** A thread that stopped at its second part, with a webhook. */
async function stoppedThread() {
  const { punctual, receiver } = shared();
  const network = fakeNetwork();
  const refusal = new NetworkError('content_refused', 'No \x1b[2Jsuch words.', { accepted: 'no' });
  network.fates.push({ kind: 'taken' }, { kind: 'fails', error: refusal });
  const client = await newClient(punctual);
  const channel = await fakeChannel(punctual, client.workspaceId, network);
  const hook = { url: `${receiver.url}?token=of-theirs`, events: ['post.failed'] };
  const { webhook } = (await client.post('/webhooks', hook)).body;
  const off = (await client.post('/webhooks', hook)).body.webhook;
  await client.patch(`/webhooks/${off.id}`, { enabled: false });
  const thread = [`\u202eOne ${'x'.repeat(100)}`, 'Two, which is not shown', 'Three'];
  const content = { thread, channel_ids: [channel], schedule_in_minutes: 0 };
  const id = String((await client.post('/posts', content)).body.post.id);
  await publish(punctual, client.workspaceId, id);
  return { punctual, client, channel, webhook, off, id, network };
}

test('a post is shown with its history by time, and a link to its workflow', async (t) => {
  const { punctual, client, channel, webhook, off, id, network } = await stoppedThread();
  const em = punctual.orm.em.fork();
  await em.execute('update posts set synced_revision = revision where id = ?', [id]);

  const { text, data } = await adminOf(punctual).call('post', 'show', `post-${id}`);

  const { namespace } = punctual.temporal;
  const link = `${uiUrl}/namespaces/${namespace}/workflows/post-${id}`;
  t.deepEqual(data.workflow, { id: `post-${id}`, link });
  const steps: Step[] = data.story;
  t.deepEqual(
    steps.map(({ at }) => at),
    steps.map(({ at }) => at).toSorted(),
  );
  const told = [
    'it was due',
    `the post was created (key …${client.key.slice(-4)})`,
    'fake @me, part 1, run 1: the intent was recorded',
    'fake @me, part 1, run 1: the request was sent',
    `fake @me, part 1, run 1: it is live: ${network.live[0]?.sent.url}`,
    'fake @me, part 2, run 1: not published, or removed since; not sent again automatically',
    'event post.failed of run 1 (ID)',
    `webhook ${webhook.id}, delivery ID, attempt 1: 204`,
  ];
  const withoutIds = steps.map(({ what }) => what.replace(/(?<=\(|delivery )[\da-f\-]{36}/v, 'ID'));
  t.deepEqual(
    withoutIds.filter((what) => told.includes(what)),
    told,
  );
  t.true(withoutIds.includes(`webhook ${off.id}, delivery ID: failed, endpoint_disabled`));
  for (const { at, what } of steps) {
    t.true(text.includes(`${at}  ${what}`), what);
  }

  t.regex(text, new RegExp(`^Post ${id}: failed, run 1$`, 'mv'));
  t.regex(text, /^Text: One x{76}… \(the first of 3 parts\)$/mv);
  t.regex(text, /^Temporal has revision 1, the newest\.$/mv);
  t.regex(text, new RegExp(`^Channel ${channel}, fake .*: failed$`, 'mv'));
  t.regex(text, /^ {2}content_refused: Part 2 of 3 did not go out: No {1,2}\[2Jsuch words\./mv);
});

test('the output contains no secret, only the beginning of texts, and no control characters', async (t) => {
  const { punctual, client, webhook, id } = await stoppedThread();
  const { text, data } = await adminOf(punctual).call('post', 'show', id);
  const json = JSON.stringify(data);
  for (const secret of [
    webhook.secret,
    'of-theirs',
    client.key,
    'which is not shown',
    '"secret"',
  ]) {
    t.false(text.includes(secret), secret);
    t.false(json.includes(secret), secret);
  }

  t.notRegex(text.replaceAll('\n', ''), /[\p{Cc}\p{Bidi_Control}]/v);
});

test('the process prints the same, and an unknown post is named', async (t) => {
  const { punctual } = shared();
  const client = await newClient(punctual);
  const { id } = (await client.post('/posts', { body: 'Hello' })).body.post;
  const admin = adminOf(punctual);
  const { code, stdout, stderr } = await admin.run('post', 'show', id);
  t.deepEqual([code, stderr], [0, '']);
  t.is(stdout, `${(await admin.call('post', 'show', id)).text}\n`);
  await client.delete(`/posts/${id}`);
  const end = new RegExp(`: the post was deleted \\(key …${client.key.slice(-4)}\\) at 20`, 'v');
  await areRefused(t, admin, [[['post', 'show', id], 'AppError', end]]);
  for (const wrong of [crypto.randomUUID(), 'x', `post-`, `' or 1=1 --`]) {
    const reason = /There is no post "/v;
    const channel = crypto.randomUUID();
    await areRefused(t, admin, [
      [['post', 'show', wrong], 'AppError', reason],
      [['post', 'retry', wrong], 'AppError', reason],
      [['post', 'settle', wrong, channel, '--not-published'], 'AppError', reason],
    ]);
  }
});
