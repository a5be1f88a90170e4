import test from 'ava';
import { faultTitles, type Fault } from './plan/faults.ts';
import { makePlan } from './plan/make-plan.ts';
import type { ChaosPlan } from './plan/post-plan.ts';

const seeds = Array.from({ length: 40 }, (_, index) => index * 7919 + 1);
const planFor = (posts: number, seed: number): ChaosPlan =>
  makePlan({ posts, seed, server: 'dev', minutes: undefined, keep: false });

function countOf(plan: ChaosPlan, fault: Fault): number {
  const certain = plan.posts.flatMap(({ faults }) => faults.filter(({ mayMiss }) => !mayMiss));
  const all: readonly Fault[] = [
    ...certain.map((each) => each.fault),
    ...plan.outages.map(({ what }) => what),
    ...plan.traps.map((trap) => trap.fault),
    ...plan.channels.flatMap(({ revokedAtMs }) =>
      revokedAtMs === null ? [] : (['token revoked'] as const),
    ),
  ];
  return all.filter((each) => each === fault).length;
}

test('a run of 60 posts, as in CI, plans every fault at least once, whatever its seed', (t) => {
  for (const seed of seeds) {
    for (const fault of Object.keys(faultTitles) as Fault[]) {
      t.true(countOf(planFor(60, seed), fault) >= 1, `${fault}, seed ${seed}`);
    }
  }
});

test('a run of 500 posts plans every fault at least 20 times', (t) => {
  for (const fault of Object.keys(faultTitles) as Fault[]) {
    t.true(countOf(planFor(500, 3), fault) >= 20, fault);
  }
});

test('the same seed plans the same run, and another seed another', (t) => {
  t.deepEqual(planFor(60, 5), planFor(60, 5));
  t.notDeepEqual(planFor(60, 5).posts, planFor(60, 6).posts);
});

test('a post meets one fault on each network at most, so that its retries end with the run', (t) => {
  for (const { faults } of seeds.flatMap((seed) => planFor(60, seed).posts)) {
    t.is(new Set(faults.map(({ platform }) => platform)).size, faults.length);
  }
});

test('outages do not overlap', (t) => {
  const { outages } = planFor(500, 9);
  for (const [index, { atMs, forMs }] of outages.entries()) {
    const next = outages[index + 1];
    t.true(next === undefined || next.atMs > atMs + forMs);
  }
});
