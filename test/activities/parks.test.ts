import test from 'ava';
import { NetworkError } from '../../networks/network.ts';
import type { LimitScope } from '../../domain/channel-error.ts';
import { addFakeChannel } from '../support/seed.ts';
import { fakeNetwork } from '../support/networks.ts';
import { ledgerWorld, type LedgerWorld } from '../support/ledger-world.ts';

const minute = 60_000;

/** The network's next answer: not before these milliseconds have passed. */
const limited = (world: LedgerWorld, inMs: number, limit?: LimitScope) => {
  const retryAtMs = world.deps.now().getTime() + inMs;
  const options = { taken: 'no', retryAtMs, ...(limit && { limit }) } as const;
  return { kind: 'fails', error: new NetworkError('rate_limited', 'Slowly.', options) } as const;
};

test('a limit that one worker met holds for the posts of the channel at all workers, also for one that waits to be tried again', async (t) => {
  const network = fakeNetwork();
  const world = await ledgerWorld(t, network);
  const other = world.newWorker();
  const [first, second, third] = [
    await world.newPost(['One']),
    await world.newPost(['Two']),
    await world.newPost(['Three']),
  ];
  const busy = new NetworkError('network_unavailable', 'Busy.', { taken: 'no' });
  network.fates.push({ kind: 'fails', error: busy });
  t.like(await second.attempt(other), { kind: 'again', inMs: minute / 2 });
  network.fates.push(limited(world, 7 * minute));
  t.like(await first.attempt(), { code: 'rate_limited', inMs: 7 * minute });

  world.pass(minute / 2);
  t.deepEqual(await second.attempt(other), {
    kind: 'again',
    code: 'rate_limited',
    inMs: 6.5 * minute,
  });
  t.like(await third.attempt(other), { code: 'rate_limited', inMs: 6.5 * minute });
  t.is(network.sends.length, 2);
  const { error } = await third.row();
  t.is(
    error,
    'The network limits how often this account may post, and the limit is used up until 2026-05-01T12:07:00.000Z. It is tried again by itself at 2026-05-01T12:07:00.000Z.',
  );
});

test('a post that prepares to send while another one meets the limit is not sent', async (t) => {
  const network = fakeNetwork();
  const world = await ledgerWorld(t, network);
  const other = world.newWorker();
  const [first, second] = [await world.newPost(['One']), await world.newPost(['Two'])];
  const { upload } = network;
  network.upload = async (...args) => {
    network.upload = upload;
    network.fates.push(limited(world, minute));
    t.like(await second.attempt(other), { kind: 'again' });
    return upload(...args);
  };

  t.like(await first.attempt(), { kind: 'again', code: 'rate_limited', inMs: minute });
  t.is(network.sends.length, 1);
  world.pass(minute);
  t.like(await first.attempt(), { kind: 'done', status: 'published' });
});

test("a server's limit holds for all channels on it, and for no other server; a network's for all", async (t) => {
  for (const [limit, waits] of [
    ['channel', [true, false, false]],
    ['server', [true, true, false]],
    ['network', [true, true, true]],
  ] as const) {
    const network = fakeNetwork();
    const world = await ledgerWorld(t, network);
    const other = world.newWorker();
    const neighbour = await channelOf(world, { remoteId: 'you' });
    const stranger = await channelOf(world, { baseUrl: 'https://other.example' });
    network.fates.push(limited(world, 3 * minute, limit));
    await (await world.newPost(['First'])).attempt();

    for (const [index, channel] of [world.channelId, neighbour, stranger].entries()) {
      const outcome = await (await world.newPost(['x'], [], channel)).attempt(other);
      t.is(outcome.kind, waits[index] ? 'again' : 'done', `${limit} ${index}`);
    }
    t.is(network.sends.length, 1 + waits.filter((wait) => !wait).length);
  }
});

test('who waits for a limit reads which one it is', async (t) => {
  const network = fakeNetwork();
  const world = await ledgerWorld(t, network);
  const neighbour = await channelOf(world, { remoteId: 'you' });
  network.fates.push(limited(world, minute, 'server'));
  await (await world.newPost(['First'])).attempt();
  const post = await world.newPost(['Second'], [], neighbour);
  await post.attempt();

  t.like(await post.row(), { status: 'retrying', errorCode: 'rate_limited', tries: 0 });
  t.regex((await post.row()).error ?? '', /^The network's server limits .* over all accounts, /v);
});

test('a limit is never shortened by a later answer, and ends by itself', async (t) => {
  for (const limit of ['channel', 'server', 'network'] as const) {
    const network = fakeNetwork();
    const world = await ledgerWorld(t, network);
    const [long, short] = [await world.newPost(['Long']), await world.newPost(['Short'])];
    // Both are under way, and the one that hears of the short limit hears of it last.
    const { send } = network;
    network.send = async () => {
      network.send = send;
      network.fates.push(limited(world, 10 * minute, limit));
      t.like(await long.attempt(), { code: 'rate_limited', inMs: 10 * minute });
      throw limited(world, minute, limit).error;
    };
    t.like(await short.attempt(), { code: 'rate_limited', inMs: minute });

    world.pass(2 * minute);
    t.like(await short.attempt(), { code: 'rate_limited', inMs: 8 * minute }, limit);
    world.pass(8 * minute);
    t.like(await long.attempt(), { kind: 'done', status: 'published' }, limit);
  }
});

test('a limit that lasts longer than a post may wait ends this one, and holds for the others', async (t) => {
  const network = fakeNetwork();
  const world = await ledgerWorld(t, network);
  const first = await world.newPost(['First']);
  network.fates.push(limited(world, 25 * 60 * minute));
  t.like(await first.attempt(), { kind: 'done', status: 'failed' });

  world.pass(2 * 60 * minute);
  const second = await world.newPost(['Second']);
  t.like(await second.attempt(), { code: 'rate_limited', inMs: 23 * 60 * minute });
  const row = await first.row();
  t.is(row.errorCode, 'too_late');
  t.regex(row.error ?? '', /^Slowly\. It is given up, a day after its time\. Retry the post /v);
});

const channelOf = (
  { deps, workspaceId }: LedgerWorld,
  account: Parameters<typeof addFakeChannel>[3],
): Promise<string> => addFakeChannel(deps, workspaceId, 'fake', account);
