import { setTimeout as sleep } from 'node:timers/promises';
import { eventsDue } from './check/events.ts';
import type { Evidence, Violation } from './check/evidence.ts';
import { live } from './live.ts';
import type { Lived } from './lived.ts';
import { noteDeaths, runOutages } from './outages.ts';
import { showPost } from './parts/calls.ts';
import type { Journal } from './parts/journal.ts';
import type { ChaosPlan } from './plan/post-plan.ts';
import { readNetworks } from './read-networks.ts';
import type { World } from './world.ts';

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
  const lives = plan.posts.map(async (post): Promise<Lived[]> => {
    try {
      return [await live(stage, post)];
    } catch (error) {
      const what = error instanceof Error ? error.message : String(error);
      violations.push({ invariant: 'calls that went wrong', marker: post.marker, what });
      return [];
    }
  });
  const [lived] = await Promise.all([Promise.all(lives), outages]);
  await untilHeard(world, lived.flat());
  for (const each of lived.flat().filter(({ end }) => end !== null)) {
    each.end = await showPost(world.client, each.id);
  }
  clearInterval(watching);
  noteDeaths(folder, journal);
  const { channels, lines, receiver, secret, networks } = world;
  const evidence: Evidence = {
    plan,
    channels,
    secret,
    lived: lived.flat(),
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
