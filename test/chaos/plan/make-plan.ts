import { seeded, type Random } from '../../support/simulation/random.ts';
import type { ChaosOptions } from '../options.ts';
import { assignFaults } from './assign-faults.ts';
import { cancelledPost, postLosingAccess, movedPost, plainPost, type Draft } from './user-posts.ts';
import { faultPosts } from './fault-posts.ts';
import { planOutages, planRestores, planServerOutages, planTraps } from './outages.ts';
import { withFiles } from './files.ts';
import { byTurns, factsOf, isPlayed, platforms } from './platforms.ts';
import { planRefreshFaults } from './refresh-faults.ts';
import type { ChannelPlan, ChaosPlan } from './post-plan.ts';

/** A run with fewer posts should be quick and plans each fault as rarely as possible. */
const longRun = 100;

/** A long run has one of this many restores during the other faults, and the others at its end. */
const restoresAmongOthers = 4;
/** The shortest time between the other posts and these restores, in milliseconds: see `inPhases`. */
const calmMs = 60_000;

/** In milliseconds. */
const shortestWindow = 80_000;

/** How often each fault is planned: 20 times in 500 posts; in a short run on two networks, by turns. */
const quotaOf = (posts: number): number => (posts < longRun ? 2 : Math.floor(posts / 25));

/** Plans the posts of a run, the steps of their users, and the faults. Equal options make equal plans. */
export function makePlan({ posts: count, seed, minutes }: ChaosOptions): ChaosPlan {
  const random = seeded(seed);
  const isLong = count >= longRun;
  const quota = quotaOf(count);
  // Each death delays everything that the process handled by 20 s and more, so a short run has one of each kind.
  const deaths = isLong ? quota : 1;
  const times = planTimes(random, { isLong, deaths, count, minutes });
  const { windowMs, outages, serverOutages } = times;
  const channels = planChannels(random, {
    shared: platforms.length * (isLong ? 3 : 2),
    revoked: Math.max(quota, platforms.length),
    isLong,
    windowMs,
  });
  const run = seed.toString(36);
  const drafts: Draft[] = Array.from({ length: count }, (_, index) => ({
    marker: `r${run}-p${String(index + 1).padStart(4, '0')}`,
    windowMs,
    channels,
  }));
  const { doomed, others } = shareOut(drafts, channels);
  const posts = [
    ...doomed.map(({ draft, ...how }) => postLosingAccess(random, draft, how)),
    ...others.map((draft) => liveOf(random, draft)),
  ];
  // A short run begins with the restore of the database.
  const firstDueMs = isLong ? 4000 : 26_000;
  const wishes = { isLong, windowMs, firstDueMs, channels, run: `r${run}` };
  const all = [
    ...assignFaults(random, posts, { ...wishes, quota, deaths }),
    ...faultPosts(random, { ...wishes, quota: deaths, outages, serverOutages }),
  ];
  const tried = planRefreshFaults({
    // A separate random stream, so that the rest of the plan does not depend on it.
    random: seeded(seed ^ 0x5eed),
    ...wishes,
    quota,
    deaths,
    restores: outages.filter(({ backupAtMs }) => backupAtMs !== null),
    firstChannel: channels.length,
  });
  return {
    isLong,
    windowMs,
    channels: [...channels, ...tried.channels],
    posts: [...all.map((post) => withFiles(random, post, channels)), ...tried.posts],
    outages,
    serverOutages,
    traps: planTraps(random, deaths, windowMs),
    refreshFaults: tried.faults,
  };
}

type Times = Pick<ChaosPlan, 'windowMs' | 'outages' | 'serverOutages'>;

/** The times of all outages, and the length of the run that they need. */
function planTimes(
  random: Random,
  {
    isLong,
    deaths,
    count,
    minutes,
  }: { isLong: boolean; deaths: number; count: number; minutes: number | undefined },
): Times {
  const restores = Math.ceil(deaths / restoresAmongOthers);
  const amongPosts = planOutages(random, { quota: deaths, restores });
  const serverOutages = planServerOutages(random, { quota: deaths, isLong });
  const endMs = Math.max(
    ...[...amongPosts, ...serverOutages].map(({ atMs, forMs }) => atMs + forMs),
  );
  const windowMs =
    minutes === undefined
      ? Math.max(shortestWindow, endMs + 20_000, isLong ? count * 3000 : 0)
      : minutes * 60_000;
  // A short run ends with a restore under running processes.
  const late = planRestores(random, isLong ? deaths - restores : 1, windowMs + calmMs);
  return { windowMs, outages: [...amongPosts, ...late], serverOutages };
}

/** The shared channels come first. Channels that lose their access have posts of their own. */
function planChannels(
  random: Random,
  {
    shared,
    revoked,
    windowMs,
    isLong,
  }: { shared: number; revoked: number; windowMs: number; isLong: boolean },
): ChannelPlan[] {
  const platformOf = (index: number) => byTurns(platforms, index);
  // An unconfirmed post on an account without access stays so for a day, which is too long for a short run. A short run
  // only revokes accounts on real servers, where a death during a send leaves the fewest posts in doubt.
  const losing = platforms.filter((each) => isLong || !isPlayed(each));
  const losesAccess = (index: number) => byTurns(losing, index);
  return [
    ...Array.from({ length: shared }, (_, index) => ({
      platform: platformOf(index),
      revokedAtMs: null,
      isFrail: false,
      isBlind: index < platforms.length && factsOf(platformOf(index)).blindSettings !== undefined,
      isTried: false,
    })),
    ...Array.from({ length: revoked }, (_, index) => ({
      platform: losesAccess(index),
      revokedAtMs: windowMs * (0.2 + 0.5 * random.next()),
      isFrail: false,
      isBlind: false,
      isTried: false,
    })),
    ...Array.from({ length: frailPerNetwork * platforms.length }, (_, index) => ({
      platform: platformOf(index),
      revokedAtMs: null,
      isFrail: true,
      isBlind: false,
      isTried: false,
    })),
  ];
}

const postsPerRevoked = 3;
const frailPerNetwork = 2;

function shareOut(
  drafts: readonly Draft[],
  channels: readonly ChannelPlan[],
): { doomed: { draft: Draft; channel: number; after: boolean }[]; others: Draft[] } {
  const revoked = channels.flatMap(({ revokedAtMs }, index) =>
    revokedAtMs === null ? [] : [index],
  );
  const wanted = Array.from({ length: postsPerRevoked }, () => revoked).flat();
  const doomed = wanted
    .slice(0, Math.max(revoked.length, Math.floor(drafts.length / 6)))
    .flatMap((channel, index) => {
      const draft = drafts[index];
      return draft ? [{ draft, channel, after: index < revoked.length }] : [];
    });
  return { doomed, others: drafts.slice(doomed.length) };
}

function liveOf(random: Random, draft: Draft) {
  const kind = random.next();
  if (kind < 0.25) {
    return movedPost(random, draft);
  }

  return kind < 0.47 ? cancelledPost(random, draft) : plainPost(random, draft);
}
