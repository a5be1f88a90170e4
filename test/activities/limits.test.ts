import test from 'ava';
import {
  createAnnouncedLimits,
  createEndpointLimits,
  createServerLimits,
} from '../../activities/limits.ts';

/** Makes `count` other endpoints hang, at time 0. */
function othersHang(limits: ReturnType<typeof createEndpointLimits>, count: number): void {
  for (let number = 0; number < count; number += 1) {
    limits.enter(`other ${number}`, 0)?.('timeout', 0);
  }
}

test('an endpoint gets four requests at a time, and another one is not affected', (t) => {
  const limits = createEndpointLimits();
  const [leave, ...rest] = [1, 2, 3, 4].map(() => limits.enter('a', 0));
  t.true(rest.every((one) => one !== null));
  t.is(limits.enter('a', 0), null);
  t.not(limits.enter('b', 0), null);
  t.deepEqual(limits.load('a', 9000), { heldMs: 9000, hung: 0 });
  leave?.('answered', 9000);
  t.not(limits.enter('a', 9000), null);
  t.is(limits.enter('a', 9000), null);
});

test('an endpoint that is the only one to hang gets the next request as soon as one has ended', (t) => {
  const limits = createEndpointLimits();
  for (let count = 0; count < 8; count += 1) {
    const leave = limits.enter('a', 0);
    t.not(leave, null);
    leave?.('timeout', 0);
  }
});

test('the more endpoints hang, the longer each rests after a timeout: together they get two requests a second', (t) => {
  const limits = createEndpointLimits();
  othersHang(limits, 100);
  for (let count = 0; count < 4; count += 1) {
    limits.enter('a', 0)?.('timeout', 0);
  }

  t.is(limits.enter('a', 0), null);
  t.is(limits.enter('a', 189_000), null); // 400 requests in 200 s, or 10 s for each.
  t.not(limits.enter('a', 194_000), null);
});

test('an endpoint that responds again has no rest, however many others hang', (t) => {
  const limits = createEndpointLimits();
  othersHang(limits, 100);
  const slow = limits.enter('a', 0);
  for (let count = 0; count < 3; count += 1) {
    limits.enter('a', 0)?.('timeout', 0);
  }

  t.is(limits.enter('a', 0), null);
  slow?.('answered', 0);
  t.true([1, 2, 3, 4].every(() => limits.enter('a', 0) !== null));
});

test('a request that was not sent ends no rest', (t) => {
  const limits = createEndpointLimits();
  othersHang(limits, 100);
  for (const end of ['timeout', 'timeout', 'timeout', 'unsent'] as const) {
    limits.enter('a', 0)?.(end, 0);
  }

  t.not(limits.enter('a', 0), null);
  t.is(limits.enter('a', 0), null);
});

test('endpoints stop counting as hanging half a minute after their rest', (t) => {
  const limits = createEndpointLimits();
  othersHang(limits, 3);
  t.is(limits.load('a', 29_000).hung, 3);
  t.is(limits.load('a', 31_000).hung, 0);
});

type Servers = ReturnType<typeof createServerLimits>;

const place = (workspaceId = 'w', host = 'fake.example') => ({
  platform: 'mastodon',
  baseUrl: `https://${host}`,
  workspaceId,
  channelId: 'c',
});

/** Begins attempts. @returns how many got a slot. */
const begin = (servers: Servers, count: number, at: ReturnType<typeof place>, nowMs = 0): number =>
  Array.from({ length: count }, () => servers.enter(at, nowMs)).filter(({ busy }) => !busy).length;

/** An attempt that gets a slot, and ends at once. */
function tried(servers: Servers, evidence: 'answered' | 'unreachable', nowMs: number): boolean {
  const slot = servers.enter(place(), nowMs);
  if (!slot.busy) {
    slot.saw(evidence, nowMs);
    slot.leave();
  }

  return !slot.busy;
}

const fails = (servers: Servers, count: number, nowMs: number): boolean[] =>
  Array.from({ length: count }, () => tried(servers, 'unreachable', nowMs));

test('a silent server gets 20 attempts at a time, 15 of one workspace, and another server is not affected', (t) => {
  const servers = createServerLimits();
  t.is(begin(servers, 20, place('a')), 15);
  t.is(begin(servers, 20, place('b')), 5);
  t.is(begin(servers, 20, place('a', 'other.example')), 15);
  t.like(servers.enter(place('c'), 8000).busy, { isPaused: false, newestForMs: 8000 });
});

test('a server that answered just now gets 60 attempts at a time, 45 of one workspace', (t) => {
  const servers = createServerLimits();
  t.true(tried(servers, 'answered', 0));
  t.is(begin(servers, 60, place('a'), 1000), 45);
  t.is(begin(servers, 60, place('b'), 1000), 15);
  const silent = createServerLimits();
  tried(silent, 'answered', 0);
  t.is(begin(silent, 60, place('a'), 2000), 15);
});

test('removals and requested reads take half of the slots, so that posts find a free one', (t) => {
  const servers = createServerLimits();
  const asides = (workspaceId: string, host?: string) =>
    Array.from({ length: 20 }, () => servers.enter(place(workspaceId, host), 0, 1 / 2)).filter(
      ({ busy }) => !busy,
    ).length;
  t.deepEqual([asides('a'), asides('b'), asides('c')], [8, 2, 0]);
  t.is(begin(servers, 20, place('a')), 7);
  t.is(begin(servers, 20, place('b')), 3);
  t.is(asides('a', 'other.example'), 8);
  fails(servers, 5, 0);
  t.is(servers.enter(place('b', 'another.example'), 0, 1 / 2).busy, null);
});

test('paths on one host share the slots of one server', (t) => {
  const servers = createServerLimits();
  t.is(begin(servers, 20, place('a', 'fake.example/s1')), 15);
  t.is(begin(servers, 20, place('b', 'fake.example/s2')), 5);
  t.is(begin(servers, 1, place('c')), 0);
});

test('a workspace with many slow servers leaves the slots of the network to others', (t) => {
  const servers = createServerLimits();
  const begun = Array.from({ length: 5 }, (_, host) =>
    begin(servers, 15, place('a', `slow${host}.example`)),
  );
  t.deepEqual(begun, [15, 15, 15, 0, 0]);
  t.is(begin(servers, 1, place('b', 'slow4.example')), 1);
  t.is(begin(servers, 1, { ...place('a'), platform: 'bluesky' }), 1);
});

test('workspaces with only hanging servers take ever fewer slots, so that another one gets some', (t) => {
  const servers = createServerLimits();
  const begun = Array.from({ length: 8 }, (_, workspace) =>
    Array.from({ length: 5 }, (__, host) =>
      begin(servers, 15, place(`hung${workspace}`, `slow${workspace}-${host}.example`)),
    ).reduce((sum, count) => sum + count),
  );
  t.deepEqual(begun, [45, 45, 45, 23, 11, 6, 3, 1]);
  t.is(begin(servers, 20, place('b', 'answers.example')), 1);
});

test('after five failed attempts in a row a server gets none during a pause, and then one at a time; pauses grow to a minute', (t) => {
  const servers = createServerLimits();
  t.true(fails(servers, 5, 0).every(Boolean));
  let nowMs = 0;
  for (const pauseS of [10, 20, 40, 60, 60]) {
    const pauseMs = 1000 * pauseS;
    const { busy } = servers.enter(place(), nowMs + 1);
    t.like(busy, { isPaused: true, pausedForMs: pauseMs - 1 });
    t.false(tried(servers, 'unreachable', nowMs + pauseMs - 1), `${pauseS}`);
    nowMs += pauseMs;
    const probe = servers.enter(place(), nowMs);
    t.is(probe.busy, null);
    t.like(servers.enter(place('b'), nowMs).busy, { isPaused: true, pausedForMs: 0 });
    probe.saw('unreachable', nowMs);
    probe.leave();
  }

  t.is(begin(servers, 1, place('a', 'other.example'), nowMs), 1);
  nowMs += 300_000;
  t.true(tried(servers, 'answered', nowMs));
  t.is(begin(servers, 20, place('a'), nowMs), 20);
});

test('attempts that began before a pause make one pause only', (t) => {
  const servers = createServerLimits();
  const slots = Array.from({ length: 10 }, () => servers.enter(place(), 0));
  for (const slot of slots) {
    slot.saw('unreachable', 0);
    slot.leave();
  }

  t.true(tried(servers, 'unreachable', 10_000));
  t.false(tried(servers, 'unreachable', 29_999));
  t.true(tried(servers, 'unreachable', 30_000));
});

test('a server that answers now and then is not paused', (t) => {
  const servers = createServerLimits();
  fails(servers, 4, 0);
  t.true(tried(servers, 'answered', 0));
  fails(servers, 4, 0);
  t.true(tried(servers, 'answered', 0));
});

test("a server's limit holds on that server, a network's everywhere on it, and none is shortened", (t) => {
  const limits = createAnnouncedLimits();
  limits.add(place(), { scope: 'server', untilMs: 9000 }, 0);
  limits.add(place(), { scope: 'server', untilMs: 5000 }, 0);
  t.deepEqual(limits.longest(place(), null), { scope: 'server', untilMs: 9000 });
  t.deepEqual(limits.longest(place(), new Date(9500)), { scope: 'channel', untilMs: 9500 });
  t.is(limits.longest(place('w', 'other.example'), null), null);
  limits.add(place(), { scope: 'network', untilMs: 7000 }, 0);
  const elsewhere = place('w', 'other.example');
  t.deepEqual(limits.longest(elsewhere, null), { scope: 'network', untilMs: 7000 });
  t.is(limits.longest({ ...elsewhere, platform: 'bluesky' }, null), null);
  limits.add(elsewhere, { scope: 'server', untilMs: 20_000 }, 8000); // It drops limits that have ended.
  t.deepEqual([...limits.on('mastodon').values()], [9000, 20_000]);
});
