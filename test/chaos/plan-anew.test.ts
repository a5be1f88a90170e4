import { spawn } from 'node:child_process';
import { once } from 'node:events';
import test from 'ava';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { evidenceOf } from './check/good-evidence.ts';
import { openJournal } from './parts/journal.ts';
import { markPost, openTraps, takeDeaths } from './parts/traps.ts';
import { makePlan } from './plan/make-plan.ts';
import { untilAllCameAbout, type Anew } from './plan/plan-anew.ts';
import type { ChaosPlan } from './plan/post-plan.ts';
import { textOf } from './plan/texts.ts';
import { noteLostAccess, revocationId } from './post-history.ts';
import { countFaults, isShort } from './report.ts';

const shortPlan = (): ChaosPlan =>
  makePlan({ posts: 60, seed: 1, server: 'dev', minutes: undefined, keep: false });

/** A plan with one certain fault, on the second part of a post on Bluesky. */
function planOfOneFault(): ChaosPlan {
  const plan = shortPlan();
  const [post] = plan.posts;
  const fault = 'killed before the record' as const;
  const planned = { id: 'f1', fault, platform: 'bluesky' as const, part: 2, mayMiss: false };
  const channels = plan.channels.map(({ platform }) => ({
    platform,
    revokedAtMs: null,
    isFrail: false,
    isBlind: false,
    isTried: false,
  }));
  const posts = post
    ? [{ ...post, faults: [planned, { ...planned, id: 'f2', mayMiss: true }] }]
    : [];
  return { ...plan, channels, posts, traps: [], refreshFaults: [], outages: [], serverOutages: [] };
}

/** Runs the repeated plan. @param comesAbout The round in which the fault is applied. */
async function liveAnew(comesAbout: number) {
  const plan = planOfOneFault();
  const journal = openJournal(() => Date.now());
  const rounds: Anew[] = [];
  const seen = () => ({ cameAbout: journal.cameAbout });
  await untilAllCameAbout(plan, seen, journal.elapsedMs, async (anew) => {
    rounds.push(anew);
    for (const { id, fault } of anew.posts.flatMap(({ faults }) => faults)) {
      if (rounds.length === comesAbout) {
        journal.injected(fault, id);
      }
    }
  });
  const short = countFaults({ plan }, journal).filter(isShort);
  return { plan, rounds, short: short.map(({ title }) => title) };
}

test('a fault that missed its post is applied to another one', async (t) => {
  const { plan, rounds, short } = await liveAnew(2);
  t.deepEqual(short, []);
  const posts = rounds.flatMap((anew) => anew.posts);
  t.deepEqual(
    posts.map(({ marker, parts }) => ({ marker, parts })),
    [
      { marker: 'f1-again1', parts: 2 },
      { marker: 'f1-again2', parts: 2 },
    ],
  );
  for (const { channels, faults } of posts) {
    t.deepEqual(faults, plan.posts[0]?.faults.slice(0, 1));
    t.deepEqual(
      channels.map((channel) => plan.channels[channel]?.platform),
      ['bluesky'],
    );
  }
});

test('a fault that misses every post fails the run after three more rounds', async (t) => {
  const { rounds, short } = await liveAnew(Infinity);
  t.is(rounds.length, 3);
  t.deepEqual(short, ['worker killed before the record']);
});

test('missed traps, missed faults of refreshes and unnoticed lost accesses get posts of their own', async (t) => {
  const whole = shortPlan();
  const plan = { ...whole, posts: [] };
  const revoked = plan.channels.flatMap(({ revokedAtMs }, index) =>
    revokedAtMs === null ? [] : [index],
  );
  const [met, ...unmet] = revoked;
  const fallenInto = plan.traps[0]?.id;
  const missed = plan.refreshFaults[0];
  const metBy = new Set([
    fallenInto,
    revocationId(met ?? -1),
    ...plan.refreshFaults.slice(1).map(({ id }) => id),
  ]);
  const seen = { cameAbout: (id: string) => metBy.has(id) };
  const rounds: Anew[] = [];
  await untilAllCameAbout(
    plan,
    () => seen,
    () => 0,
    async (anew) => void rounds.push(anew),
  );
  const [{ posts = [], traps = [] } = {}] = rounds;
  t.deepEqual(traps, plan.traps.slice(1));
  t.deepEqual(
    posts.slice(traps.length).map(({ channels }) => channels),
    [missed?.channel, ...unmet].map((channel) => [channel]),
  );
  t.is(posts.length, traps.length + 1 + unmet.length);
});

test('a lost access that a post met counts also when the post is settled after a restore', (t) => {
  const plan = { ...planOfOneFault(), channels: planOfRevoked() };
  const journal = openJournal(() => Date.now());
  const end = (code: 'access_lost' | 'not_published') =>
    evidenceOf({ channel: { status: 'failed', error_code: code } }).histories;
  for (const code of ['access_lost', 'access_lost', 'not_published'] as const) {
    noteLostAccess(plan, journal, end(code), ['c0', 'c1']);
  }

  const revoked = countFaults({ plan }, journal).find(({ title }) => title.includes('revoked'));
  t.like(revoked, { planned: 2, injected: 1 });
});

const planOfRevoked = (): ChaosPlan['channels'] =>
  Array.from({ length: 2 }, () => ({
    platform: 'mastodon',
    revokedAtMs: 5000,
    isFrail: false,
    isBlind: false,
    isTried: false,
  }));

/** A process that passes a mark's point at once, and again on a message. */
const passing = `
  import { passMark } from '${new URL('parts/traps.ts', import.meta.url).href}';
  const passed = JSON.parse(process.env.PASSED);
  process.once('message', () => {
    passMark(...passed);
    process.exit(0);
  });
  passMark(...passed);
  process.send('passed');
`;

test('a running worker dies from a mark that is set later', async (t) => {
  const folder = await temporaryFolder(t);
  openTraps(folder);
  const [marker, part, platform] = ['p1', 1, 'mastodon'] as const;
  const fault = 'killed before the record';
  const text = textOf({ marker, part, parts: 1, version: 1 });
  const worker = spawn(process.execPath, ['--input-type=module', '--eval', passing], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, PASSED: JSON.stringify([folder, fault, platform, [text]]) },
  });
  t.teardown(() => worker.kill('SIGKILL'));
  t.deepEqual(await once(worker, 'message'), ['passed', undefined]);
  markPost(folder, marker, { id: 'f1', fault, platform, part, mayMiss: false });
  worker.send('again');
  t.deepEqual(await once(worker, 'exit'), [null, 'SIGKILL']);
  t.deepEqual(takeDeaths(folder), [{ id: 'f1', fault, marker }]);
});
