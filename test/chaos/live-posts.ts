import { setTimeout as sleep } from 'node:timers/promises';
import type { Stage } from './change-post.ts';
import { eventsDue } from './check/events.ts';
import type { Evidence, Violation } from './check/evidence.ts';
import { live } from './live.ts';
import { lostChannels, type Lived } from './lived.ts';
import { noteDeaths, runOutages } from './outages.ts';
import { showPost } from './parts/calls.ts';
import type { Journal } from './parts/journal.ts';
import { setTrap } from './parts/traps.ts';
import { untilAllCameAbout, type Seen } from './plan/plan-anew.ts';
import type { ChaosPlan, PostPlan } from './plan/post-plan.ts';
import { readNetworks } from './read-networks.ts';
import { prepareFaults, type World } from './world.ts';

/** How long everything may take to end after the last post was due, in milliseconds, and how long its events after that. */
const patience = { short: 8 * 60_000, long: 20 * 60_000, events: 90_000 };

type Living = {
  readonly plan: ChaosPlan;
  readonly journal: Journal;
  readonly startMs: number;
  readonly folder: string;
};

/** Lets the users of all posts do what they do while everything goes wrong, and collects what came of it. */
export async function livePosts(
  world: World,
  { plan, journal, startMs, folder }: Living,
): Promise<{ evidence: Evidence; violations: Violation[] }> {
  const isLong = plan.posts.length >= 100;
  const deadlineMs = startMs + plan.windowMs + (isLong ? patience.long : patience.short);
  const channelIds = world.channels.map(({ id }) => id);
  const stage = { client: world.client, journal, startMs, channelIds, deadlineMs };
  const violations: Violation[] = [];
  const watching = setInterval(() => noteDeaths(folder, journal), 500);
  const outages = runOutages({ ...world, plan, startMs, folder, journal });
  const lived: Lived[] = [];
  const liveAll = async (during: Stage, posts: readonly PostPlan[]): Promise<void> => {
    await Promise.all(
      posts.map(async (post) => {
        try {
          lived.push(await live(during, post));
        } catch (error) {
          const what = error instanceof Error ? error.message : String(error);
          violations.push({ invariant: 'calls that went wrong', marker: post.marker, what });
        }
      }),
    );
  };
  await Promise.all([liveAll(stage, plan.posts), outages]);
  const seen = (): Seen => {
    noteDeaths(folder, journal);
    return { cameAbout: journal.cameAbout, lost: lostChannels(lived, channelIds) };
  };
  await untilAllCameAbout(plan, seen, journal.elapsedMs, async ({ posts, traps }) => {
    prepareFaults({ folder, faults: world.faults }, posts);
    for (const trap of traps) {
      setTrap(folder, trap);
    }
    const lastMs = Math.max(...posts.map(({ dueMs }) => dueMs));
    await liveAll({ ...stage, deadlineMs: startMs + lastMs + patience.short }, posts);
  });
  await untilHeard(world, lived);
  for (const each of lived.filter(({ end }) => end !== null)) {
    each.end = await showPost(world.client, each.id);
  }
  clearInterval(watching);
  noteDeaths(folder, journal);
  const { channels, lines, receiver, secret, networks } = world;
  const evidence: Evidence = {
    plan,
    channels,
    secret,
    lived,
    found: await readNetworks(networks, channels),
    creates: [...lines.mastodon.creates, ...lines.bluesky.creates],
    events: receiver.taken,
  };
  return { evidence, violations };
}

/** Until the user's own server has heard of every end, or that takes too long. */
async function untilHeard({ receiver }: World, lived: readonly Lived[]): Promise<void> {
  const due = lived.reduce((sum, each) => sum + eventsDue(each).least, 0);
  const giveUpAtMs = Date.now() + patience.events;
  const heard = (): number =>
    new Set(
      receiver.taken
        .filter(
          ({ answered, headers }) =>
            answered === 204 && String(headers['service-event-type']).startsWith('post.'),
        )
        .map(({ headers }) => headers['service-event-id']),
    ).size;
  while (heard() < due && Date.now() < giveUpAtMs) {
    await sleep(500);
  }

  await sleep(3000); // What comes now is one too many.
}
