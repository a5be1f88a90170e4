import { setTimeout as sleep } from 'node:timers/promises';
import { postWorkflowId, sweepScheduleId } from '../../workflows/messages.ts';
import type { Stage } from './change-post.ts';
import { eventsDue, eventsByPost } from './check/events.ts';
import type { Evidence, Violation } from './check/evidence.ts';
import { simulateUser, untilEnded } from './simulate-user.ts';
import { lostChannels, type PostHistory } from './post-history.ts';
import { runOutages, type Stagehand } from './outages.ts';
import { readNetworks } from './networks/read-networks.ts';
import { showPost } from './parts/calls.ts';
import type { Journal } from './parts/journal.ts';
import { aimAt, setTrap } from './parts/traps.ts';
import { inPhases } from './plan/phases.ts';
import { untilAllCameAbout, type Seen } from './plan/plan-anew.ts';
import type { ChaosPlan, PostPlan } from './plan/post-plan.ts';
import { settleForgotten } from './restore.ts';
import { watchWorkers } from './watch-workers.ts';
import { prepareFaults, terminate, type World } from './world.ts';

/** How long everything may take to end after the last post was due, in milliseconds, and how long its events after that. */
const patience = { short: 8 * 60_000, long: 20 * 60_000, events: 5 * 60_000 };

/** A short run has the sweep come by this often, where the product has it come each minute. In milliseconds. */
const sweepEveryMs = 15_000;

/** In milliseconds: so long before it the last phase is begun. */
const leadMs = 3000;

/** The stage on which the first of these posts is made now, or later where that is its time. */
function shifted(stage: Stage, posts: readonly PostPlan[]): Stage {
  const firstMs = stage.startMs + Math.min(...posts.map(({ createMs }) => createMs));
  const byMs = Math.max(0, Date.now() + leadMs - firstMs);
  return { ...stage, startMs: stage.startMs + byMs, deadlineMs: stage.deadlineMs + byMs };
}

type RunPlan = {
  readonly plan: ChaosPlan;
  readonly journal: Journal;
  readonly startMs: number;
  readonly folder: string;
};

/** Lets the users of all posts do what they do while everything goes wrong, and collects what came of it. */
export async function runPosts(
  world: World,
  { plan, journal, startMs, folder }: RunPlan,
): Promise<{ evidence: Evidence; violations: Violation[] }> {
  const deadlineMs = startMs + plan.windowMs + (plan.isLong ? patience.long : patience.short);
  const stage = stageOf(world, { journal, startMs, folder, deadlineMs });
  const { channelIds, histories } = stage;
  const violations: Violation[] = [];
  const ends = { terminate: (id: string) => terminate(world, id) };
  const watch = watchWorkers({ folder, journal, cues: world.cues, ...ends });
  const sweeping = plan.isLong ? undefined : setInterval(() => sweep(world), sweepEveryMs);
  const runOutagesOf = (phase: Stagehand['plan'], from: number) =>
    runOutages({ ...world, plan: phase, startMs: from, folder, journal, histories });
  const finished: PostHistory[] = [];
  const attempt = async (marker: string, run: () => Promise<unknown>): Promise<void> => {
    try {
      await run();
    } catch (error) {
      const what = error instanceof Error ? error.message : String(error);
      violations.push({ invariant: 'calls that went wrong', marker, what });
    }
  };
  const simulateOne = async (during: Stage, post: PostPlan) =>
    finished.push(await simulateUser(during, post));
  const simulateUsers = (during: Stage, posts: readonly PostPlan[]) =>
    Promise.all(posts.map((post) => attempt(post.marker, () => simulateOne(during, post))));
  const { first, last } = inPhases(plan);
  await Promise.all([simulateUsers(stage, first.posts), runOutagesOf(first, startMs)]);
  const seen = (): Seen => {
    watch.look();
    return { cameAbout: journal.cameAbout, lost: lostChannels(finished, channelIds) };
  };
  await untilAllCameAbout(plan, seen, journal.elapsedMs, async ({ posts, traps }) => {
    prepareFaults({ folder, faults: world.faults }, posts);
    for (const trap of traps) {
      setTrap(folder, trap);
    }
    const lastMs = Math.max(...posts.map(({ dueMs }) => dueMs));
    await simulateUsers({ ...stage, deadlineMs: startMs + lastMs + patience.short }, posts);
  });
  // Its times are moved to when all of that is over.
  const late = shifted(stage, last.posts);
  await Promise.all([simulateUsers(late, last.posts), runOutagesOf(last, late.startMs)]);
  // What was over before the restore may not be so after it.
  const again = finished.filter(({ restores, isGone }) => restores > 0 && !isGone);
  await Promise.all(again.map((each) => attempt(each.plan.marker, () => endAgain(late, each))));
  const found = again.length > 0 ? await readNetworks(world.channels) : [];
  for (const each of again) {
    await attempt(each.plan.marker, () => settleForgotten(stage, each, found));
  }
  await untilEventsArrive(world, finished);
  for (const each of finished.filter(({ end }) => end !== null)) {
    each.end = await showPost(world.client, each.id);
  }
  clearInterval(sweeping);
  watch.close();
  const run = { plan, startMs, disturbances: journal.disturbances, histories: finished };
  const evidence = { ...(await readWitnesses(world)), ...run };
  return { evidence, violations };
}

/** What networks and the receiver have seen. */
const readWitnesses = async ({ channels, lines, receiver, secret }: World) => ({
  channels,
  secret,
  found: await readNetworks(channels),
  creates: lines.all.flatMap(({ creates }) => creates),
  events: receiver.taken,
});

async function endAgain(stage: Stage, history: PostHistory): Promise<void> {
  history.end = await untilEnded(stage, history);
}

function stageOf(
  world: World,
  given: Pick<Stage, 'journal' | 'startMs' | 'deadlineMs'> & { readonly folder: string },
): Stage {
  const { folder, ...rest } = given;
  return {
    ...rest,
    client: world.client,
    cues: world.cues,
    channelIds: world.channels.map(({ id }) => id),
    videoChannels: new Set(
      world.channels.flatMap(({ platform }, index) => (platform === 'youtube' ? [index] : [])),
    ),
    mediaIds: world.mediaIds,
    terminate: (postId) => terminate(world, postWorkflowId(postId)),
    aim: (postId, fault) => aimAt(folder, postId, fault),
    histories: [],
  };
}

/** While Temporal is away there is none. */
function sweep({ temporalClient }: World): void {
  void temporalClient
    .withDeadline(Date.now() + 5000, () =>
      temporalClient.schedule.getHandle(sweepScheduleId).trigger(),
    )
    .catch(() => undefined);
}

/** Until the user's own server has received every end, or that takes too long. */
async function untilEventsArrive(
  { receiver }: World,
  histories: readonly PostHistory[],
): Promise<void> {
  const giveUpAtMs = Date.now() + patience.events;
  const isMissing = (): boolean => {
    const heard = eventsByPost(receiver.taken);
    return histories.some((each) => (heard.get(each.id)?.size ?? 0) < eventsDue(each).least);
  };
  while (isMissing() && Date.now() < giveUpAtMs) {
    await sleep(1000);
  }

  await sleep(3000); // What comes now is one too many.
}
