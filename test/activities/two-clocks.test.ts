import test from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { fakeNetwork } from '../support/networks.ts';
import { ledgerWorld } from '../support/ledger-world.ts';

const minute = 60_000;

test('a worker whose clock is ahead sends nothing again that may still appear', async (t) => {
  const network = fakeNetwork(minute);
  const world = await ledgerWorld(t, network);
  const ahead = world.newWorker({
    now: () => new Date(world.deps.now().getTime() + 5 * minute),
  });
  const post = await world.newPost(['Hello']);
  network.fates.push({ kind: 'vanished' });
  t.like(await post.attempt(), { kind: 'again' });

  world.pass(minute / 2);
  // It has to wait for the rest of the minute, and says so by its own clock.
  t.like(await post.attempt(ahead), { kind: 'again', code: 'network_unavailable' });
  t.is(network.sends.length, 1);
  world.pass(minute / 2);
  t.like(await post.attempt(ahead), { kind: 'done', status: 'published' });
  t.is(network.live.length, 1);
});

test('a worker whose clock is behind does not wait longer than it must', async (t) => {
  const network = fakeNetwork(minute);
  const world = await ledgerWorld(t, network);
  const behind = world.newWorker({
    now: () => new Date(world.deps.now().getTime() - 5 * minute),
  });
  const post = await world.newPost(['Hello']);
  network.fates.push({ kind: 'vanished' });
  network.blind = new NetworkError('network_unavailable', 'Down.', { taken: 'unknown' });
  t.like(await post.attempt(), { kind: 'again' });

  network.blind = undefined;
  world.pass(minute);
  t.like(await post.attempt(behind), { kind: 'done', status: 'published' });
  t.is(network.live.length, 1);
});

test('a post that a network swallowed is out after a minute, at the cost of one try', async (t) => {
  const network = fakeNetwork(minute);
  const world = await ledgerWorld(t, network);
  const post = await world.newPost(['Hello']);
  network.fates.push({ kind: 'vanished' });
  // Earlier nobody could tell whether it is still to appear.
  t.like(await post.attempt(), { kind: 'again', inMs: minute });

  world.pass(minute);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.is((await post.row()).tries, 1);
});
