import test from 'ava';
import { NetworkError } from '../../../networks/network.ts';
import { newClient } from '../../support/client.ts';
import { beforeTests } from '../../support/kit.ts';
import { needs } from '../../support/needs.ts';
import { fakeNetworks } from '../../support/networks.ts';
import { startApi, startWorkers } from '../../support/punctual.ts';
import { startReceiver, type Receiver } from '../../support/receiver.ts';
import { endedPost, storeChannel } from '../../support/seed.ts';
import { storedRows } from '../../support/stored-rows.ts';
import { adminOf, areRefused } from './admin.ts';
import { badlyEndedPost, workspaceOfFailures } from './ended-posts.ts';

// `post retry`, `post settle` and `post replay`.

const shared = beforeTests(test, (scope) => startApi(scope, { networks: fakeNetworks }));
const there = 'https://social.test/@ana/1';
const refusal = new NetworkError('content_refused', 'No.', { accepted: 'no' });

needs('temporal')(
  'posts that an operator retries or settles continue, with webhooks, although the commands write only the database',
  async (t) => {
    const receivers: [Receiver, Receiver] = [await startReceiver(t), await startReceiver(t)];
    const allowPorts = receivers.map(({ port }) => port);
    const punctual = await startApi(t, { networks: fakeNetworks, allowPorts });
    const failed = await badlyEndedPost(punctual, { kind: 'fails', error: refusal });
    const lost = await badlyEndedPost(punctual, { kind: 'lost' });
    const events = ['post.published', 'post.failed'];
    const [ofFailed, ofLost] = receivers;
    await failed.client.post('/webhooks', { url: ofFailed.url, events });
    await lost.client.post('/webhooks', { url: ofLost.url, events });
    await startWorkers(t, punctual);
    const { run, call } = adminOf(punctual);

    const { id, channel } = failed;
    // As a process, which closes its connections: its changes are committed by then.
    const { code, stdout, stderr } = await run('post', 'retry', id);
    t.deepEqual([code, stderr], [0, '']);
    t.true(stdout.startsWith(`Post ${id} is sent again to 1 channel: ${channel}\n`));
    t.is(JSON.parse((await ofFailed.nth(1)).body).type, 'post.published');
    t.is((await failed.show()).status, 'published');
    t.is(failed.network.live.length, 1);

    const settled = await call('post', 'settle', lost.id, lost.channel, '--published', there);
    t.regex(settled.text, /is published: https:\/\/social\.test\/@ana\/1\nPost .* is published\./v);
    const event = JSON.parse((await ofLost.nth(1)).body);
    t.is(event.type, 'post.published');
    t.deepEqual(event.data.post, await lost.show());
    t.is(lost.network.sends.length, 1);
  },
);

test('the commands work while Temporal is unavailable, and the worker syncs later', async (t) => {
  // Not the file's Temporal: an unreachable one.
  const punctual = await startApi(t, {
    temporalEnv: { TEMPORAL_ADDRESS: '127.0.0.1:9', TEMPORAL_NAMESPACE: 'away' },
  });
  const client = await newClient(punctual);
  const channel = await storeChannel(punctual, client.workspaceId);
  const id = await endedPost(punctual, client, new Map([[channel, 'failed']]));
  const { text } = await adminOf(punctual).call('post', 'retry', id);
  t.regex(text, /The worker syncs it with Temporal/v);
  const [post] = await punctual.orm.em
    .fork()
    .execute<{ lag: number }[]>('select revision - synced_revision as lag from posts');
  t.is(post?.lag, 1);

  const { run } = adminOf(punctual);
  const reason = /^Temporal cannot be reached at 127\.0\.0\.1:9: .+ Check TEMPORAL_ADDRESS\.\n$/v;
  for (const words of [
    ['post', 'retry-now', '--platform', 'x'],
    ['restore', 'finish'],
  ]) {
    const { code, stderr } = await run(...words);
    t.is(code, 1);
    t.regex(stderr, reason);
  }
});

/** A post whose only channel ended with this status. */
async function endedOnOne(status: 'failed' | 'unconfirmed') {
  const punctual = shared();
  const client = await newClient(punctual);
  const channel = await storeChannel(punctual, client.workspaceId);
  const id = await endedPost(punctual, client, new Map([[channel, status]]));
  return { client, channel, id };
}

test('a settle command needs exactly one valid answer', async (t) => {
  const { client, channel, id } = await endedOnOne('unconfirmed');
  const settle = (...words: readonly string[]): string[] => ['post', 'settle', id, ...words];
  const one = /one of --published, --not-published is wanted/v;
  await areRefused(t, adminOf(shared()), [
    [settle(channel), 'UsageError', one],
    [settle(channel, '--not-published', '--published', there), 'UsageError', one],
    [settle(channel, '--published', 'here'), 'AppError', /whole address of the post/v],
    [settle(channel, '--published', 'https://other.test/@ana/1'), 'AppError', /of a post of @ana/v],
    [settle(channel, '--published', ''), 'AppError', /whole address of the post/v],
    [settle('x', '--not-published'), 'AppError', /This post has no channel "x"/v],
    [settle('--not-published'), 'UsageError', /CHANNEL is missing/v],
  ]);
  t.is((await client.get(`/posts/${id}`)).body.post.channels[0].status, 'unconfirmed');
});

type Failed = { readonly post_id: string; readonly codes: string[] };

const idsOf = (posts: readonly Failed[]): string[] => posts.map((post) => post.post_id);

test('failures of an outage are retried by due time, and failures that a retry cannot help are not', async (t) => {
  const { client, failed, statuses, replay } = await workspaceOfFailures(shared());
  const late = await failed(['network_unavailable'], { minutesAgo: 5 });
  const early = await failed(['too_late', 'rate_limited', 'internal'], { minutesAgo: 50 });
  const mixed = await failed(['content_refused', 'network_unavailable', 'unconfirmed']);
  const others = ['content_refused', 'media_refused', 'duplicate', 'access_lost'] as const;
  const refused = await failed([...others, 'permission_missing', 'not_published']);
  const unconfirmed = await failed(['unconfirmed']);
  const before = await failed(['network_unavailable'], { minutesAgo: 121 });

  const { text, failed: isBad } = await replay('--since', '2h', '--dry-run');
  t.false(isBad);
  t.regex(
    text,
    /^Posts that would be sent again: 3 \(too_late 1, rate_limited 1, internal 1, network_unavailable 2\)\.$/mv,
  );
  t.regex(text, /^Channels that are left out: 9 \(.*unconfirmed 2/mv);
  t.deepEqual(await statuses(late), ['failed']);

  const { data: done } = await replay('--since', '2h');
  t.deepEqual(idsOf(done.retried), [early, late, mixed]);
  t.deepEqual(idsOf(done.left_out).toSorted(), [mixed, refused, unconfirmed].toSorted());
  t.deepEqual(done.refused, []);
  t.deepEqual(await statuses(late), ['publishing']);
  t.deepEqual(await statuses(early), ['publishing', 'publishing', 'publishing']);
  t.deepEqual(await statuses(mixed), ['failed', 'publishing', 'unconfirmed']);
  t.deepEqual(await statuses(unconfirmed), ['unconfirmed']);
  t.deepEqual(await statuses(before), ['failed']);
  t.is((await client.get(`/posts/${mixed}`)).body.post.status, 'publishing');

  const { data: again } = await replay('--since', '2h');
  t.deepEqual(again.retried, []);
  t.deepEqual(idsOf(again.left_out).toSorted(), [refused, unconfirmed].toSorted());
});

test('a named code is retried, and no other, also not of a post that is still being sent', async (t) => {
  const { failed, statuses, replay, em } = await workspaceOfFailures(shared());
  const post = await failed(['access_lost', 'network_unavailable']);
  const open = await failed(['access_lost', 'network_unavailable']);
  await em.execute(`update posts set status = 'publishing' where id = ?`, [open]);
  const { data } = await replay('--since', '1d', '--code', 'access_lost');
  t.is(data.retried.length, 1);
  t.deepEqual(data.retried[0].codes, ['access_lost']);
  t.deepEqual(await statuses(post), ['publishing', 'failed']);
});

// Its own database, because all workspaces are replayed at the end.
test('--until and --workspace limit the replay', async (t) => {
  const punctual = await startApi(t);
  const { failed, replay, replayAll } = await workspaceOfFailures(punctual);
  const stranger = await newClient(punctual);
  const theirs = await failed(['internal'], { by: stranger });
  const [old, young] = [
    await failed(['internal'], { minutesAgo: 90 }),
    await failed(['internal'], { minutesAgo: 10 }),
  ];
  const early = await replay('--since', '2h', '--until', '1h');
  t.deepEqual(idsOf(early.data.retried), [old]);
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const late = await replay('--since', since);
  t.deepEqual(idsOf(late.data.retried), [young]);
  t.deepEqual(idsOf((await replayAll('--since', '1h')).data.retried), [theirs]);
});

// Its own database, because posts of two workspaces are replayed together.
test('a post that cannot be retried is named with the reason, and does not stop the others', async (t) => {
  const punctual = await startApi(t);
  const { em, failed, replayAll } = await workspaceOfFailures(punctual);
  const poor = await newClient(punctual);
  const without = await failed(['internal'], { minutesAgo: 9, by: poor });
  await em.execute('update workspaces set plan = null where id = ?', [poor.workspaceId]);
  const fine = await failed(['internal']);
  const { data, failed: isBad } = await replayAll('--since', '1h');
  t.true(isBad); // The process ends with 1.
  t.deepEqual(idsOf(data.retried), [fine]);
  t.like(data.refused[0], { post_id: without });
  t.regex(data.refused[0].error, /^This workspace has no active plan,/v);
  t.regex((await replayAll('--since', '1h')).text, /^Posts that could not be sent again: 1$/mv);
});

test('an invalid time or code is refused, and nothing is retried', async (t) => {
  const { orm } = shared();
  const admin = adminOf(shared());
  const { failed, client, statuses } = await workspaceOfFailures(shared());
  const post = await failed(['internal']);
  const before = await storedRows(orm, client.workspaceId);
  const wrong: [string[], RegExp][] = [
    [[], /--since is missing/v],
    [['--since', 'yesterday'], /--since: it must be a time such as .* not "yesterday"/v],
    [['--since', '2027-03-01T09:00:00'], /--since: it must be a time/v],
    [['--since', '2w'], /--since: it must be a time/v],
    [['--since', '1h', '--until', 'x'], /--until: it must be a time/v],
    [['--since', '1h', '--until', '2h'], /--until must be later than --since/v],
    [['--since', '1h', '--code', 'gone'], /rate_limited/v],
    [['--since', '1h', '--code', 'unconfirmed'], /"unconfirmed"/v],
  ];
  const refusals = wrong.map(
    ([words, reason]) => [['post', 'replay', ...words], 'UsageError', reason] as const,
  );
  await areRefused(t, admin, refusals);
  const nowhere = ['post', 'replay', '--since', '1h', '--workspace', 'x'];
  await areRefused(t, admin, [[nowhere, 'AppError', /no workspace "x"/v]]);
  t.deepEqual(await storedRows(orm, client.workspaceId), before);
  t.deepEqual(await statuses(post), ['failed']);
});
