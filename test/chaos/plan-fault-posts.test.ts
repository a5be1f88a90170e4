import test from 'ava';
import { singlePostFaults } from './plan/faults.ts';
import { makePlan } from './plan/make-plan.ts';
import { inPhases } from './plan/phases.ts';
import type { ChaosPlan } from './plan/post-plan.ts';

const seeds = Array.from({ length: 20 }, (_, index) => index * 7919 + 1);
const planFor = (posts: number, seed: number): ChaosPlan =>
  makePlan({ posts, seed, server: 'dev', minutes: undefined, keep: false });

test('each restore affects posts that are rescheduled after its backup and due after it, and one that is cancelled', (t) => {
  for (const plan of [planFor(500, 3), ...seeds.map((seed) => planFor(60, seed))]) {
    for (const { atMs, forMs, backupAtMs } of plan.outages) {
      if (backupAtMs === null) {
        continue;
      }

      const touched = plan.posts.filter(
        ({ createMs, dueMs, steps: [step] }) =>
          createMs < backupAtMs &&
          dueMs > atMs + forMs &&
          step !== undefined &&
          step.atMs > backupAtMs &&
          step.atMs < atMs,
      );
      const kinds = new Set(touched.map(({ steps: [step] }) => step?.kind));
      t.deepEqual(kinds, new Set(['move', 'cancel'] as const));
    }
  }
});

test('no other outage comes between a backup and the end of its restore', (t) => {
  const { outages } = planFor(500, 9);
  for (const [index, { atMs, backupAtMs }] of outages.entries()) {
    const before = outages[index - 1];
    t.true(before === undefined || before.atMs + before.forMs < (backupAtMs ?? atMs));
  }
});

test('in a long run three of four restores come after the posts with all other faults', (t) => {
  const { posts, outages } = planFor(500, 3);
  const restores = outages.filter(({ backupAtMs }) => backupAtMs !== null);
  const isOther = ({ faults }: (typeof posts)[number]) => faults.some(({ mayMiss }) => !mayMiss);
  const lastMs = Math.max(...posts.filter(isOther).map(({ dueMs }) => dueMs));
  const after = restores.filter(({ backupAtMs }) => (backupAtMs ?? 0) > lastMs + 30_000);
  t.deepEqual([restores.length, after.length], [20, 15]);
});

test('posts on accounts of its own only are due while a server hangs', (t) => {
  for (const plan of seeds.map((seed) => planFor(60, seed))) {
    for (const { platform, atMs, forMs } of plan.serverOutages) {
      const meant = plan.posts.filter(
        ({ channels, dueMs }) =>
          dueMs > atMs &&
          dueMs < atMs + forMs &&
          channels.every((channel) => {
            const { isFrail = false, platform: network } = plan.channels[channel] ?? {};
            return isFrail && network === platform;
          }),
      );
      t.true(meant.length >= 2);
    }
    const others = plan.posts.filter(({ faults, steps }) => faults.length + steps.length > 0);
    t.false(others.some(({ channels }) => channels.some((each) => plan.channels[each]?.isFrail)));
  }
});

test('a post with a cancel at a certain point has no other fault, and exists before it is due', (t) => {
  const names: readonly string[] = singlePostFaults;
  for (const { faults, dueMs, createMs, parts } of planFor(500, 3).posts) {
    const planned = faults.find(({ fault }) => names.includes(fault));
    if (planned) {
      t.is(faults.length, 1);
      t.true(dueMs - createMs >= 3000);
      t.true(planned.part <= parts);
    }
  }
});

test('in a short run no planned fault is on a post that is due before the restore', (t) => {
  for (const { posts, outages } of seeds.map((seed) => planFor(60, seed))) {
    const restore = outages.find(({ backupAtMs }) => backupAtMs !== null);
    const overMs = (restore?.atMs ?? Infinity) + (restore?.forMs ?? 0);
    const certain = posts.filter(({ faults }) => faults.some(({ mayMiss }) => !mayMiss));
    t.true(certain.length > 0);
    t.deepEqual(
      certain.filter(({ dueMs }) => dueMs < overMs),
      [],
    );
  }
});

test('the restores at the end of a run, and their posts, come after everything else', (t) => {
  const plan = planFor(200, 3);
  const { first, last } = inPhases(plan);
  const markersOf = (posts: typeof plan.posts) => posts.map(({ marker }) => marker);
  t.deepEqual(
    [...markersOf(first.posts), ...markersOf(last.posts)].toSorted(),
    markersOf(plan.posts).toSorted(),
  );
  t.is(first.outages.length + last.outages.length, plan.outages.length);
  t.true(last.outages.every(({ backupAtMs }) => backupAtMs !== null));
  t.is(last.outages.length, 6);
  t.true(last.posts.length > 0);
  t.deepEqual(
    last.posts.flatMap(({ faults }) => faults),
    [],
  );
  const made = Math.min(...last.posts.map(({ createMs }) => createMs));
  t.true(first.posts.every(({ createMs }) => createMs < made));
});

test('a short run ends with a restore under running processes', (t) => {
  for (const { last } of seeds.map((seed) => inPhases(planFor(60, seed)))) {
    t.deepEqual(
      last.outages.map(({ runsOn }) => runsOn),
      [true],
    );
    t.true(last.posts.length > 10);
  }
});
