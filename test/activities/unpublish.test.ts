import test, { type ExecutionContext } from 'ava';
import { unpublishChannel } from '../../activities/unpublish/unpublish-channel.ts';
import { finishUnpublish, readUnpublish } from '../../activities/unpublish/unpublish-request.ts';
import { NetworkError } from '../../networks/network.ts';
import { unpublishPost } from '../../services/posts/unpublish-post.ts';
import { attempt } from '../support/attempt.ts';
import { cannotTell, down, fails, fakeNetwork, liveTexts, type Fate } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { onOneDatabase } from '../support/on-one-database.ts';

const hour = 3_600_000;
const { newSteps } = onOneDatabase(test);

/** A thread that went out, or stopped where one of its sends fails, and the request to remove it. */
const thread = (t: ExecutionContext, ...fates: readonly Fate[]) =>
  post(t, 'a', ['One', 'Two', 'Three'], ...fates);

async function post(
  t: ExecutionContext,
  name: string,
  texts: readonly string[],
  ...fates: readonly Fate[]
) {
  const network = fakeNetwork();
  network.fates.push(...fates);
  network.blind = cannotTell;
  const steps = await newSteps(t, { [name]: network });
  const { deps, workspaceId } = steps;
  const { post: postId, go, id: postChannelId } = await steps.begin({ thread: texts });
  await steps.attemptAll(postId, go);
  await steps.finalize(postId, go);
  const scope = { workspaceId, postId };
  return {
    network,
    steps,
    postId,
    go,
    ask: () => unpublishPost(deps, scope),
    remove: () => attempt(unpublishChannel, deps, { ...scope, postChannelId }),
    finish: () => finishUnpublish(deps, { ...scope, stopped: [] }),
    left: () => readUnpublish(deps, scope),
    channel: async () => (await steps.show(postId)).channels[0],
  };
}

const refusal = (code: NetworkError['code']): NetworkError =>
  new NetworkError(code, 'No.', { accepted: 'no' });

test('a thread is removed newest part first, and one that was deleted there is not found', async (t) => {
  const { network, ask, remove, finish, channel, steps, postId } = await thread(t);
  const url = (await channel())?.url;
  const order: string[] = [];
  const { remove: original } = network;
  network.remove = async (connection, parts) => {
    const last = network.live.find(({ sent }) => sent.remoteId === parts.at(-1)?.remoteId);
    order.push(last?.text ?? 'gone');
    return (await original?.(connection, parts)) ?? 'not_found';
  };
  network.live.splice(0, 1); // Its owner deleted the first part on the network.
  await ask();
  t.like(await channel(), { status: 'published', unpublish: { status: 'pending', error: null } });
  t.like(await remove(), { kind: 'done', status: 'not_found' });
  t.deepEqual(order, ['Three', 'Two', 'gone']);
  t.like(await channel(), { status: 'removed', url, unpublish: { status: 'not_found' } });
  t.truthy((await channel())?.gone_at);

  t.like(await finish(), { isOver: true });
  t.like(await finish(), { isOver: true });
  t.like(await steps.show(postId), {
    status: 'published',
    summary: { published: 1, failed: 0, pending: 0 },
  });
  t.deepEqual(await steps.events(postId), ['post.published', 'post.unpublished']);
  t.is(await ask(), null);
});

test('a post that a person found is removed, by the id in its address', async (t) => {
  const lost = { kind: 'lost' } as const;
  const { network, steps, postId, ask, remove, channel } = await post(t, 'youtube', ['One'], lost);
  t.like(await channel(), { status: 'unconfirmed' });
  const url = `https://www.youtube.com/watch?v=${network.live[0]?.sent.remoteId}`;
  await steps.settle(postId, steps.channels['youtube'] ?? '', url);
  await ask();
  t.like(await remove(), { kind: 'done', status: 'removed' });
  t.deepEqual(network.live, []);
  t.like(await channel(), { status: 'removed', url });
});

test('an outage is retried with growing waits for a day, and then fails; the next request removes the post', async (t) => {
  const { network, ask, remove, finish, channel, steps } = await thread(t);
  await ask();
  network.keepsPosts = down;
  const waits: number[] = [];
  for (let tried = await remove(); tried.kind === 'again'; tried = await remove()) {
    t.like((await channel())?.unpublish, { status: 'pending', error_code: 'network_unavailable' });
    waits.push(tried.inMs ?? 0);
    steps.pass(tried.inMs ?? 0);
  }

  const totalMs = waits.reduce((sum, wait) => sum + wait, 0);
  t.true(waits[0] === 30_000 && waits.at(-1) === 600_000, waits.join());
  t.true(totalMs > 23 * hour && totalMs <= 24 * hour, `${totalMs}`);
  t.like(await channel(), {
    status: 'published',
    unpublish: { status: 'failed', error_code: 'network_unavailable' },
  });
  t.regex((await channel())?.unpublish?.error ?? '', /Unpublish the post again later/v);
  t.like(await finish(), { isOver: true });

  network.keepsPosts = undefined;
  await ask();
  t.like(await remove(), { kind: 'done', status: 'removed' });
  t.deepEqual(network.live, []);
});

test('a worker that dies between two parts leaves the rest to the next attempt', async (t) => {
  const { network, ask, remove, left } = await thread(t);
  const { remove: original } = network;
  await ask();
  network.remove = async (connection, parts) => {
    if (parts.length === 1) {
      throw down;
    }

    return (await original?.(connection, parts)) ?? 'not_found';
  };
  t.like(await remove(), { kind: 'again' });
  t.deepEqual(liveTexts(network), ['One']);
  t.is((await left()).length, 1);
  Object.assign(network, { remove: original });
  t.like(await remove(), { kind: 'done', status: 'removed' });
  t.like(await remove(), { kind: 'done', status: 'removed' });
  t.deepEqual(liveTexts(network), []);
  t.deepEqual(await left(), []);
});

test('a lost access, a missing permission and a disconnected account fail at once', async (t) => {
  for (const code of ['access_lost', 'permission_missing', 'disconnected'] as const) {
    const { network, ask, remove, channel, steps } = await thread(t);
    await steps.subscribe('channel.needs_reconnect');
    await ask();
    network.keepsPosts = refusal(code === 'disconnected' ? 'internal' : code);
    if (code === 'disconnected') {
      await steps.disconnect('a');
    }

    t.like(await remove(), { kind: 'done', status: 'failed', code });
    t.like(await channel(), { unpublish: { status: 'failed', error_code: code } });
    t.notRegex((await channel())?.unpublish?.error ?? '', /before it had the post/v);
    const lost = await steps.deps.orm.em
      .fork()
      .execute(`select 1 from events where workspace_id = ? and type = 'channel.needs_reconnect'`, [
        steps.workspaceId,
      ]);
    t.is(lost.length, code === 'access_lost' ? 1 : 0, code);
    t.is(network.live.length, 3);
  }
});

test('a rate limit of deletions is waited for, and holds back nothing else', async (t) => {
  const { network, ask, remove, steps } = await thread(t);
  await ask();
  const retryAtMs = steps.deps.now().getTime() + 10 * 60_000;
  network.keepsPosts = new NetworkError('rate_limited', 'Slow.', { accepted: 'no', retryAtMs });
  t.like(await remove(), { kind: 'again', code: 'rate_limited', inMs: 10 * 60_000 });
  const [{ parked_until: parked }] = await steps.deps.orm.em
    .fork()
    .execute<[{ parked_until: Date | null }]>(
      'select parked_until from channels where workspace_id = ?',
      [steps.workspaceId],
    );
  t.is(parked, null);
  network.keepsPosts = undefined;
  t.like(await remove(), { kind: 'done', status: 'removed' });
});

test('removals at a server that hangs take half of its slots, and the others wait for them', async (t) => {
  const { network, ask, remove, channel, steps } = await thread(t);
  await ask();
  const [{ base_url: baseUrl }] = await steps.deps.orm.em
    .fork()
    .execute<[{ base_url: string }]>('select base_url from channels where workspace_id = ?', [
      steps.workspaceId,
    ]);
  steps.pass(2000); // Since the server's last answer.
  const { remove: original } = network;
  const answer = Promise.withResolvers<void>();
  let underWay = 0;
  network.remove = async (...args) => {
    underWay += 1;
    await answer.promise;
    return (await original?.(...args)) ?? 'not_found';
  };
  const hanging = Array.from({ length: 8 }, () => remove());
  await poll(
    () => underWay,
    (count) => count === 8,
  );
  const waits = await Promise.race([remove(), ...hanging]);
  t.like(waits, { kind: 'again', code: 'paced' });
  t.true(waits.kind === 'again' && (waits.inMs ?? 0) < 1000);
  t.like((await channel())?.unpublish, { status: 'pending', error_code: 'paced' });
  t.is(underWay, 8);
  const { servers } = steps.deps.limits;
  const sender = { platform: 'a', baseUrl, workspaceId: steps.workspaceId };
  t.is(servers.enter(sender, steps.deps.now().getTime()).busy, null);
  answer.resolve();
  await Promise.all(hanging);
  t.is((await remove()).kind, 'done');
});

test('the live parts of a failed thread are removed, and a retry leaves the channel out', async (t) => {
  const taken: Fate = { kind: 'taken' };
  const { network, ask, remove, finish, channel, steps, postId } = await thread(
    t,
    taken,
    taken,
    fails('content_refused'),
  );
  t.deepEqual(liveTexts(network), ['One', 'Two']);
  await ask();
  await t.throwsAsync(steps.retry(postId), { message: /^Unpublished, so not sent again: /v });
  t.like(await remove(), { kind: 'done', status: 'removed' });
  await finish();
  t.deepEqual(network.live, []);
  t.like(await channel(), {
    status: 'failed',
    retryable: false,
    unpublish: { status: 'removed' },
  });
  t.regex((await channel())?.error ?? '', / What was live has been removed since\.$/v);
  t.like(await steps.show(postId), { status: 'failed', summary: { published: 0, failed: 1 } });
  await t.throwsAsync(steps.retry(postId), { message: /^Unpublished, so not sent again: /v });
  t.is(network.sends.length, 3);
});

test('a post without an id on the network, or on a network that removes nothing, is unsupported', async (t) => {
  const settled = await thread(t);
  await settled.ask();
  await settled.steps.deps.orm.em
    .fork()
    .execute('update post_parts set remote_id = null where workspace_id = ?', [
      settled.steps.workspaceId,
    ]);
  const removesNothing = await thread(t);
  await removesNothing.ask();
  delete (removesNothing.network as { remove?: unknown }).remove;
  for (const { network, remove, channel } of [settled, removesNothing]) {
    t.like(await remove(), { kind: 'done', status: 'unsupported', code: null });
    const { url, status, unpublish } = (await channel()) ?? {};
    t.is(status, 'published');
    t.true(unpublish?.error?.endsWith(`Delete it on the network: ${url}`));
    t.is(network.live.length, 3);
  }
});
