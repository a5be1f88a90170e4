import test from 'ava';
import { makePlan } from './plan/make-plan.ts';
import { factsOf, isPlayed, platforms } from './plan/platforms.ts';
import type { ChaosPlan } from './plan/post-plan.ts';
import { recoverySeconds } from './plan/recovery.ts';

const seeds = Array.from({ length: 20 }, (_, index) => index * 7919 + 1);
const planFor = (posts: number, seed: number): ChaosPlan =>
  makePlan({ posts, seed, server: 'dev', minutes: undefined, keep: false });

test('every network has reliable accounts and unreliable ones, and in a long run accounts that lose their access', (t) => {
  for (const { channels, isLong } of [planFor(200, 3), ...seeds.map((seed) => planFor(60, seed))]) {
    for (const platform of platforms) {
      const own = channels.filter((channel) => channel.platform === platform);
      t.true(own.some(({ revokedAtMs, isFrail }) => revokedAtMs === null && !isFrail));
      const mayLose = isLong || !isPlayed(platform);
      t.is(
        own.some(({ revokedAtMs }) => revokedAtMs !== null),
        mayLose,
      );
      t.true(own.some(({ isFrail }) => isFrail));
    }
    const blind = channels.filter(({ isBlind }) => isBlind).map(({ platform }) => platform);
    t.deepEqual(
      blind,
      platforms.filter((platform) => factsOf(platform).blindSettings),
    );
  }
});

test('a short run has faults on every network, and a long run has every fault on each network that supports it', (t) => {
  for (const { posts } of seeds.map((seed) => planFor(60, seed))) {
    const met = new Set(posts.flatMap(({ faults }) => faults.map(({ platform }) => platform)));
    t.deepEqual([...met].toSorted(), platforms.toSorted());
  }

  const met = Map.groupBy(
    planFor(500, 3).posts.flatMap(({ faults }) => faults),
    ({ fault }) => fault,
  );
  for (const [fault, all] of met) {
    const fewer = {
      'processing slow': platforms.filter(isPlayed).length,
      '429 after a cancel': platforms.filter((platform) => factsOf(platform).isSequential).length,
    }[fault as string];
    t.is(new Set(all.map(({ platform }) => platform)).size, fewer ?? platforms.length, fault);
  }
});

test('in a short run no post waits longer than the run lasts', (t) => {
  for (const { posts, serverOutages } of seeds.map((seed) => planFor(60, seed))) {
    const faults = posts.flatMap((post) => post.faults).filter(({ mayMiss }) => !mayMiss);
    t.deepEqual(
      faults.filter(({ fault, platform }) => recoverySeconds(fault, platform) > 170),
      [],
    );
    t.false(serverOutages.some(({ platform }) => recoverySeconds('500, not done', platform) > 170));
  }
});
