import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import type { LimitScope } from '../../domain/channel-error.ts';
import { NetworkError } from '../../networks/network.ts';
import { sharedDatabase } from '../support/kit.ts';
import { poll } from '../support/poll.ts';
import { addFakeChannel } from '../support/seed.ts';
import {
  measuredChannel,
  measuredNetwork,
  read,
  refusing,
  type MeasuredChannel,
  type MeasuredNetwork,
} from './measured-network.ts';

const minute = 60_000;
const hour = 60 * minute;
const database = sharedDatabase(test);
const newChannel = (t: ExecutionContext, network?: MeasuredNetwork) =>
  measuredChannel(t, database().url, network);
const nothing = { read: 0, gone: 0, postponed: 0, failed: 0, left: 0 };

/** Adds another channel on the same network. */
const addChannel = (
  { deps, workspaceId, network }: MeasuredChannel,
  remoteId: string,
  baseUrl = 'https://fake.example',
) => addFakeChannel(deps, workspaceId, network.id, { remoteId, baseUrl });

const after = ({ deps }: MeasuredChannel, ms: number): Date => new Date(deps.now().getTime() + ms);

const says = (code: NetworkError['code'], more: object = {}): NetworkError =>
  new NetworkError(code, `They said ${code}.`, { accepted: 'no', ...more });

/** A post that was read once, is due again, and has newer metrics on the network. */
async function readOnce(channel: MeasuredChannel) {
  const post = await channel.publish({ likes: 1 });
  channel.pass(15 * minute);
  await channel.refresh();
  channel.pass(15 * minute);
  channel.network.figures.set(post.remoteId, read({ likes: 2 }));
  return post;
}

const channelRow = async ({ deps, channelId }: MeasuredChannel) => {
  const sql =
    'select state, parked_until, followers, followers_updated_at from channels where id = ?';
  const [row] = await deps.orm.em.fork().execute<Record<string, unknown>[]>(sql, [channelId]);
  return row;
};

test('a network that does not respond keeps the last metrics and their time, and is read again after 15 minutes', async (t) => {
  const channel = await newChannel(t);
  const post = await readOnce(channel);
  const before = await post.row();
  const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  for (const cause of [undefined, refused]) {
    channel.network.onRead = refusing(says('network_unavailable', { cause }));
    await post.makeDue();
    t.deepEqual(await channel.refresh(), { ...nothing, failed: 1 });
    t.deepEqual(await post.row(), { ...before, nextAt: after(channel, 15 * minute) });
  }
  t.like(await channelRow(channel), { state: 'connected' });

  channel.network.onRead = () => undefined;
  t.deepEqual(await channel.refresh(), nothing);
  channel.pass(15 * minute);
  t.deepEqual(await channel.refresh(), { ...nothing, read: 1 });
  t.deepEqual((await post.row()).metrics, { likes: 2 });
});

test('a rate limit of metrics postpones reads in its scope, and delays no post', async (t) => {
  for (const [limit, waits] of [
    ['channel', [true, false, false]],
    ['server', [true, true, false]],
    ['network', [true, true, true]],
  ] as readonly (readonly [LimitScope, readonly boolean[]])[]) {
    const channel = await newChannel(t);
    const { network } = channel;
    const neighbour = await addChannel(channel, 'neighbour');
    const far = await addChannel(channel, 'far', 'https://far.example');
    const first = await readOnce(channel);
    const before = await first.row();
    const retryAtMs = after(channel, 40 * minute).getTime();
    network.onRead = refusing(says('rate_limited', { retryAtMs, limit }));
    const [second, third] = [
      await channel.publish({ likes: 5 }, neighbour),
      await channel.publish({ likes: 6 }, far),
    ];
    t.deepEqual(await channel.refresh(), { ...nothing, postponed: 1 });
    t.deepEqual(await first.row(), { ...before, nextAt: new Date(retryAtMs) });
    t.like(await channelRow(channel), { parked_until: null });

    network.onRead = () => undefined;
    channel.pass(20 * minute);
    await channel.refresh();
    const rows = await Promise.all([first, second, third].map((post) => post.row()));
    t.deepEqual(
      rows.map(({ updatedAt }) => updatedAt?.getTime() !== channel.deps.now().getTime()),
      waits,
    );
    channel.pass(20 * minute);
    await channel.refresh();
    t.deepEqual((await first.row()).metrics, { likes: 2 });
  }
});

test('a network that refuses the access keeps the last metrics, sends one event, and is read again after a reconnect', async (t) => {
  const channel = await newChannel(t);
  const post = await readOnce(channel);
  const before = await post.row();
  channel.network.onRead = refusing(says('access_lost'));
  t.deepEqual(await channel.refresh(), { ...nothing, postponed: 1 });
  t.deepEqual(await post.row(), { ...before, nextAt: after(channel, hour) });
  t.like(await channelRow(channel), { state: 'needs_reconnect' });

  channel.network.onRead = () => undefined;
  channel.pass(hour);
  t.deepEqual(await channel.refresh(), { ...nothing, postponed: 1 });
  t.deepEqual((await post.row()).metrics, { likes: 1 });
  t.is(channel.network.reads.length, 2);

  const em = channel.deps.orm.em.fork();
  const events = 'select 1 from events where channel_id = ?';
  t.is((await em.execute<unknown[]>(events, [channel.channelId])).length, 1);
  await em.execute(`update channels set state = 'connected' where id = ?`, [channel.channelId]);
  channel.pass(hour);
  t.deepEqual(await channel.refresh(), { ...nothing, read: 1 });
  t.deepEqual((await post.row()).metrics, { likes: 2 });
});

test('a disconnected channel is not read, and its old posts are no longer due', async (t) => {
  const channel = await newChannel(t);
  const post = await readOnce(channel);
  const em = channel.deps.orm.em.fork();
  await em.execute('update channels set disconnected_at = now() where id = ?', [channel.channelId]);
  t.deepEqual(await channel.refresh(), { ...nothing, postponed: 1 });
  t.deepEqual((await post.row()).nextAt, after(channel, hour));
  channel.pass(400 * 24 * hour);
  t.deepEqual(await channel.refresh(), { ...nothing, postponed: 1 });
  t.is((await post.row()).nextAt, null);
  t.is(channel.network.reads.length, 1);
});

test('posts whose read fails do not block other posts of their channel', async (t) => {
  const channel = await newChannel(t, measuredNetwork({ batchSize: 1 }));
  const [bad, good] = [await channel.publish({ likes: 1 }), await channel.publish({ likes: 2 })];
  const { reads } = channel.network;
  channel.pass(15 * minute);
  for (const error of [says('content_refused'), new Error('A bug.')]) {
    channel.network.onRead = () => {
      if (reads.at(-1)?.[0] === bad.remoteId) {
        throw error;
      }
    };
    await Promise.all([bad.makeDue(), good.makeDue()]);
    t.deepEqual(await channel.refresh(), { ...nothing, read: 1, failed: 1 });
    t.deepEqual((await bad.row()).nextAt, after(channel, hour));
    channel.pass(minute);
  }
});

test('posts that a read left out are read after a minute, not at their next usual time', async (t) => {
  const channel = await newChannel(t);
  const [old, other] = [await readOnce(channel), await channel.publish({ likes: 7 })];
  channel.pass(30 * 24 * hour);
  await Promise.all([old.makeDue(), other.makeDue()]);
  const before = await old.row();
  channel.network.figures.set(old.remoteId, { kind: 'unasked' });
  t.deepEqual(await channel.refresh(), { ...nothing, read: 1, left: 1 });
  t.deepEqual(await old.row(), { ...before, nextAt: after(channel, minute) });
  t.deepEqual((await other.row()).nextAt, after(channel, 24 * hour));
});

test('a channel that hangs delays no other, and its posts are read when it responds again', async (t) => {
  const channel = await newChannel(t, measuredNetwork({ batchSize: 1 }));
  const { network } = channel;
  const other = await addChannel(channel, 'other');
  const hung = [await channel.publish({ likes: 1 }), await channel.publish({ likes: 1 })];
  const well = await channel.publish({ likes: 2 }, other);
  channel.pass(15 * minute);
  network.onRead = async ({ remoteId, signal }) => {
    if (remoteId === 'me') {
      await once(signal, 'abort');
      throw says('network_unavailable');
    }
  };
  const refreshing = channel.refresh({}, channel.deps, { longestMs: 60_000, askTimeoutMs: 4000 });
  await poll(well.row, ({ updatedAt }) => updatedAt !== null);

  t.is(await Promise.race([refreshing, 'under way']), 'under way');
  t.deepEqual(await refreshing, { ...nothing, read: 1, failed: 2 });
  t.is(network.reads.length, 2); // The second post of the hung channel is not read.
  network.onRead = () => undefined;
  for (const post of hung) {
    t.deepEqual(await post.row(), {
      metrics: null,
      updatedAt: null,
      nextAt: after(channel, 15 * minute),
      goneAt: null,
    });
  }

  channel.pass(15 * minute);
  t.deepEqual(await channel.refresh(), { ...nothing, read: 3 });
});

test('followers are read once a day, and a network that fails to report them delays no metrics', async (t) => {
  const told: (number | null | NetworkError)[] = [120, says('network_unavailable'), null];
  let asked = 0;
  const followers = async (): Promise<number | null> => {
    const answer = told[asked] ?? null;
    asked += 1;
    if (answer instanceof NetworkError) {
      throw answer;
    }

    return answer;
  };
  const channel = await newChannel(t, measuredNetwork({ followers }));
  const post = await channel.publish({ likes: 1 });
  for (const [passMs, count, known] of [
    [15 * minute, 1, 120],
    [23 * hour, 1, 120],
    [hour, 2, 120],
    [hour, 3, null],
  ] as const) {
    channel.pass(passMs);
    await post.makeDue();
    t.deepEqual(await channel.refresh(), { ...nothing, read: 1 });
    t.is(asked, count);
    t.like(await channelRow(channel), { followers: known });
  }
});
