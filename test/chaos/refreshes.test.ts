import test, { type ExecutionContext } from 'ava';
import { askingX, me } from '../sandbox/oauth/asking-x.ts';
import { refresh, signIn, type Tokens } from '../sandbox/oauth/sign-in.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { networkLine } from './networks/network-line.ts';
import { plannedFaults } from './networks/planned-faults.ts';
import { playedLine } from './networks/platform-line.ts';
import { plannedRefreshes, type SeenRefresh } from './networks/refreshes.ts';
import { startPlayedServer } from './networks/sandbox-server.ts';
import { openCues } from './parts/cues.ts';
import { openJournal } from './parts/journal.ts';
import type { RefreshFault } from './plan/faults.ts';
import { makePlan } from './plan/make-plan.ts';
import { isRotating } from './plan/platforms.ts';
import type { ChaosPlan } from './plan/post-plan.ts';

/** An account of X behind its line, with planned faults of its refreshes. */
async function accountOnX(t: ExecutionContext, ...faults: RefreshFault[]) {
  const folder = await temporaryFolder(t);
  const played = await startPlayedServer(t, 'x', { folder, name: 'x-7' });
  const planned = plannedRefreshes();
  planned.add(faults.map((fault, index) => ({ id: `t${index}`, fault, channel: 7, atMs: 0 })));
  const seen: SeenRefresh[] = [];
  const killed: string[] = [];
  const journal = openJournal(() => 0);
  const line = await networkLine(t, {
    ...playedLine('x', 'x-7'),
    refreshes: { channel: 7, faults: planned, order: played.order, seen },
    server: { url: played.url, isAtLine: true },
    storm: { untilMs: 0 },
    faults: plannedFaults(),
    journal,
    cues: openCues(),
    killWorker: (name) => killed.push(name),
  });
  const tokens = await signIn(line.url, askingX);
  const ask = (token: string | undefined) => refresh(line.url, askingX, token);
  const outcomes = () => seen.map(({ outcome }) => outcome);
  return { line, played, journal, tokens, ask, outcomes, killed };
}

test('a refresh is recorded with its token and outcome, and returns valid tokens', async (t) => {
  const { line, tokens, ask, outcomes } = await accountOnX(t);
  const fresh = (await (await ask(tokens.refresh_token)).json()) as Tokens;
  t.is((await me(line.url, fresh.access_token)).status, 200);
  t.is((await ask(tokens.refresh_token)).status, 400);
  t.deepEqual(outcomes(), ['renewed', 'refused']);
});

test('planned faults apply to one refresh after the other, and do not end the grant', async (t) => {
  const { tokens, ask, outcomes, journal } = await accountOnX(
    t,
    'refresh answered 500',
    'refresh limited',
    'refresh not answered',
  );
  t.is((await ask(tokens.refresh_token)).status, 500);
  t.is((await ask(tokens.refresh_token)).status, 429);
  await t.throwsAsync(ask(tokens.refresh_token));
  t.is((await ask(tokens.refresh_token)).status, 200);
  t.deepEqual(outcomes(), ['away', 'away', 'away', 'renewed']);
  t.true(['t0', 't1', 't2'].every(journal.cameAbout));
});

for (const fault of ['refresh answer lost', 'killed after a refresh'] as const) {
  test(`after "${fault}" the old token is used up and the new one is lost`, async (t) => {
    const { played, tokens, ask, outcomes, killed } = await accountOnX(t, fault);
    await t.throwsAsync(ask(tokens.refresh_token));
    t.is(killed.length, fault === 'killed after a refresh' ? 1 : 0);
    t.false((await played.grants())[0]?.isRevoked);
    t.is((await ask(tokens.refresh_token)).status, 400);
    t.true((await played.grants())[0]?.isRevoked);
    t.deepEqual(outcomes(), [fault === 'refresh answer lost' ? 'lost' : 'renewed', 'refused']);
  });
}

test('a grant that is revoked at a refresh has ended, and its owner can give another one', async (t) => {
  const { line, tokens, ask, outcomes } = await accountOnX(t, 'grant revoked');
  t.is((await ask(tokens.refresh_token)).status, 400);
  const again = await signIn(line.url, askingX);
  t.is((await ask(again.refresh_token)).status, 200);
  t.deepEqual(outcomes(), ['refused', 'renewed']);
});

test('a fault waits for its time and its channel', (t) => {
  const planned = plannedRefreshes();
  const fault = { id: 't1', fault: 'refresh limited', channel: 1, atMs: 5000 } as const;
  planned.add([fault]);
  t.is(planned.take(1, 4000), undefined);
  t.is(planned.take(2, 6000), undefined);
  t.is(planned.take(1, 6000), fault);
  t.is(planned.take(1, 6000), undefined);
});

const seeds = Array.from({ length: 20 }, (_, index) => index * 7919 + 1);
const planFor = (posts: number, seed: number): ChaosPlan =>
  makePlan({ posts, seed, server: 'dev', minutes: undefined, keep: false });

test('every planned fault of a refresh has a post of its own that causes it', (t) => {
  for (const plan of [planFor(500, 3), ...seeds.map((seed) => planFor(60, seed))]) {
    for (const { channel, atMs } of plan.refreshFaults) {
      t.true(plan.channels[channel]?.isTried);
      const causes = ({ channels, dueMs }: ChaosPlan['posts'][number]): boolean =>
        channels.includes(channel) && dueMs > atMs && dueMs < atMs + 3000;
      t.true(plan.posts.some(causes));
      t.true(atMs < plan.windowMs);
    }
  }
});

test('in every run a worker dies with a single-use token, and a restore loses one', (t) => {
  for (const { refreshFaults, channels, posts, outages } of seeds.map((seed) =>
    planFor(60, seed),
  )) {
    const killed = refreshFaults.filter(({ fault }) => fault === 'killed after a refresh');
    const platforms = killed.map(({ channel }) => channels[channel]?.platform);
    t.true(platforms.some((platform) => platform !== undefined && isRotating(platform)));
    const restored = outages.find(({ backupAtMs }) => backupAtMs !== null);
    const bought = posts.filter(
      ({ dueMs, channels: [number = -1] }) =>
        channels[number]?.platform === 'x' &&
        channels[number].isTried &&
        dueMs > (restored?.backupAtMs ?? Infinity) &&
        dueMs < (restored?.atMs ?? 0),
    );
    t.is(bought.length, 1);
  }
});

test('channels with faults of their refreshes have only posts of their own', (t) => {
  for (const { posts, channels } of seeds.map((seed) => planFor(60, seed))) {
    for (const post of posts.filter(({ marker }) => !/-g\d+$/v.test(marker))) {
      t.false(post.channels.some((channel) => channels[channel]?.isTried));
    }
  }
});
