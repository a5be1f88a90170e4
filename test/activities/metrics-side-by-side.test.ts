import test, { type ExecutionContext } from 'ava';
import { claimDue, reserveReads } from '../../activities/refresh-metrics/due-reads.ts';
import { NetworkError } from '../../networks/network.ts';
import { sharedDatabase } from '../support/kit.ts';
import { createWorkspace } from '../../cli/admin/workspaces.ts';
import { addFakeChannel } from '../support/seed.ts';
import {
  measuredChannel,
  measuredNetwork,
  read,
  type MeasuredNetwork,
} from './measured-network.ts';

const minute = 60_000;
const day = 24 * 60 * minute;
const database = sharedDatabase(test);
const newChannel = (t: ExecutionContext, network?: MeasuredNetwork) =>
  measuredChannel(t, database().url, network);
const nothing = { read: 0, gone: 0, postponed: 0, failed: 0, left: 0 };

test('two concurrent refreshes read each post once', async (t) => {
  const channel = await newChannel(t, measuredNetwork({ batchSize: 2 }));
  const { network, deps, workspaceId } = channel;
  const posts = [];
  for (let nr = 0; nr < 6; nr += 1) {
    const own = await addFakeChannel(deps, workspaceId, network.id, { remoteId: `account-${nr}` });
    for (const likes of [1, 2, 3]) {
      posts.push(await channel.publish({ likes }, own));
    }
  }

  channel.pass(15 * minute);
  network.onRead = () => new Promise((resolve) => setImmediate(resolve));
  const workers = [deps, channel.newWorker(), channel.newWorker()];
  const counts = await Promise.all(workers.map((worker) => channel.refresh({}, worker)));
  t.is(
    counts.reduce((sum, count) => sum + count.read, 0),
    posts.length,
  );
  t.deepEqual(network.reads.flat().toSorted(), posts.map(({ remoteId }) => remoteId).toSorted());
});

test('the posts of a killed worker are read by another one 15 minutes later', async (t) => {
  const channel = await newChannel(t);
  const post = await channel.publish({ likes: 1 });
  channel.pass(15 * minute);
  const claiming = { platform: channel.network.id, everyMs: 0, post: null, busyChannels: [] };
  t.is((await claimDue(channel.deps, claiming)).rows.length, 1);

  t.deepEqual(await channel.refresh(), nothing);
  channel.pass(15 * minute);
  t.deepEqual(await channel.refresh(), { ...nothing, read: 1 });
  t.deepEqual((await post.row()).metrics, { likes: 1 });
});

test('a worker that was suspended overwrites no newer metrics and restores no deleted post', async (t) => {
  for (const newer of [read({ likes: 20 }), { kind: 'gone' } as const]) {
    const channel = await newChannel(t);
    const { network } = channel;
    const post = await channel.publish({ likes: 10 });
    channel.pass(15 * minute);
    const [asked, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { read: readNow } = network.metrics;
    const slow = {
      ...network,
      metrics: {
        ...network.metrics,
        read: async (...args: Parameters<typeof readNow>) => {
          const answer = await readNow(...args);
          asked.resolve();
          await goesOn.promise;
          return answer;
        },
      },
    };
    const slept = channel.refresh({}, channel.newWorker({ networks: { [network.id]: slow } }));
    await asked.promise;
    channel.pass(16 * minute);
    network.figures.set(post.remoteId, newer);
    await channel.refresh();
    const row = await post.row();
    t.is(row.updatedAt === null, newer.kind === 'gone');
    goesOn.resolve();
    await slept;
    t.deepEqual(await post.row(), row);
  }
});

test('concurrent refreshes do not exceed the monthly budget, and the remaining posts are read next month', async (t) => {
  const channel = await newChannel(t, measuredNetwork({ batchSize: 3, readsPerMonth: 25 }));
  const { network, deps, workspaceId } = channel;
  const posts = [];
  for (let nr = 0; nr < 8; nr += 1) {
    const own = await addFakeChannel(deps, workspaceId, network.id, { remoteId: `account-${nr}` });
    for (let count = 0; count < 5; count += 1) {
      posts.push(await channel.publish({ likes: 1 }, own));
    }
  }

  channel.pass(15 * minute);
  // A failed read may have used the budget.
  let isFirst = true;
  network.onRead = () => {
    if (isFirst) {
      isFirst = false;
      throw new NetworkError('network_unavailable', 'No answer.', { accepted: 'no' });
    }
  };
  const workers = [deps, channel.newWorker(), channel.newWorker(), channel.newWorker()];
  await Promise.all(workers.map((worker) => channel.refresh({}, worker)));
  t.is(network.reads.flat().length, 25);
  channel.pass(20 * minute);
  await channel.refresh();
  t.is(network.reads.flat().length, 25);

  const unread = [];
  for (const post of posts) {
    const { updatedAt, nextAt } = await post.row();
    if (updatedAt === null) {
      unread.push(nextAt?.getTime() ?? 0);
    }
  }

  t.true(unread.length >= posts.length - 25);
  const [from, until] = [Date.parse('2026-06-01T00:00:00Z'), Date.parse('2026-06-02T00:00:00Z')];
  t.true(unread.every((nextMs) => nextMs >= from && nextMs < until));
  channel.pass(until - deps.now().getTime());
  await channel.refresh();
  t.is(network.reads.flat().length, 50);
});

test('a workspace reads at most its share of the budget, and leaves the rest to the others', async (t) => {
  const network = measuredNetwork({ batchSize: 2, readsPerMonth: 10 });
  const channel = await newChannel(t, network);
  const { deps } = channel;
  const other = await createWorkspace(deps.orm.em.fork(), 'Other');
  await addFakeChannel(deps, other, network.id, { remoteId: 'other' });
  const posts = await Promise.all(Array.from({ length: 8 }, () => channel.publish({ likes: 1 })));
  channel.pass(15 * minute);
  await channel.refresh();
  t.is(network.reads.flat().length, 5);
  t.is(await reserveReads(deps, { workspaceId: other, platform: network.id }, 10, 9), 5);
  t.is(posts.length, 8);
});

test('an account that its network refuses uses up no budget of other accounts', async (t) => {
  for (const code of ['access_lost', 'permission_missing', 'rate_limited'] as const) {
    const channel = await newChannel(t, measuredNetwork({ readsPerMonth: 1 }));
    const { network, deps, workspaceId } = channel;
    await channel.publish({ likes: 1 });
    channel.pass(15 * minute);
    network.onRead = () => {
      throw new NetworkError(code, 'No.', { accepted: 'no' });
    };
    await channel.refresh();
    network.onRead = () => undefined;
    const other = await addFakeChannel(deps, workspaceId, network.id, { remoteId: 'other' });
    const post = await channel.publish({ likes: 2 }, other);
    channel.pass(15 * minute);
    await post.makeDue();
    const request = { post: { workspaceId, postId: post.postId } };
    t.deepEqual(await channel.refresh(request), { ...nothing, read: 1 }, code);
  }
});

test('a network that is read once a day reads a post no sooner, even on request', async (t) => {
  const channel = await newChannel(t, measuredNetwork({}, day));
  const post = await channel.publish({ likes: 1 });
  const publishedAt = channel.deps.now().getTime();
  channel.pass(15 * minute);
  t.deepEqual(await channel.refresh(), { ...nothing, postponed: 1 });
  t.deepEqual((await post.row()).nextAt, new Date(publishedAt + day));

  await post.makeDue();
  const { postId } = post;
  const request = { post: { workspaceId: channel.workspaceId, postId } };
  t.deepEqual(await channel.refresh(request), { ...nothing, postponed: 1 });
  channel.pass(publishedAt + day - channel.deps.now().getTime());
  t.deepEqual(await channel.refresh(), { ...nothing, read: 1 });
  t.deepEqual((await post.row()).nextAt, new Date(publishedAt + 2 * day));
});

test('a refresh of one post reads no other', async (t) => {
  const channel = await newChannel(t);
  const [post, other] = [await channel.publish({ likes: 1 }), await channel.publish({ likes: 2 })];
  channel.pass(15 * minute);
  const { postId } = post;
  t.deepEqual(
    await channel.refresh({ post: { workspaceId: crypto.randomUUID(), postId } }),
    nothing,
  );
  const request = { post: { workspaceId: channel.workspaceId, postId } };
  t.deepEqual(await channel.refresh(request), { ...nothing, read: 1 });
  t.is((await other.row()).updatedAt, null);
});

test('posts that a refresh has no time for are left to the next one', async (t) => {
  const channel = await newChannel(t, measuredNetwork({ batchSize: 1 }));
  const posts = [await channel.publish(), await channel.publish(), await channel.publish()];
  channel.pass(15 * minute);
  channel.network.onRead = () => new Promise((resolve) => setTimeout(resolve, 6000));
  const counts = await channel.refresh({}, channel.deps, { longestMs: 5000, askTimeoutMs: 60_000 });
  t.deepEqual(counts, { ...nothing, read: 1, left: 2 });
  channel.network.onRead = () => undefined;
  t.deepEqual(await channel.refresh(), { ...nothing, read: posts.length - 1 });
});
