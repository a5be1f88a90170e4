import { setTimeout as sleep } from 'node:timers/promises';
import { postWorkflowId, sweepScheduleId } from '../../workflows/messages.ts';
import type { Stage } from './change-post.ts';
import { lossesDue } from './check/access.ts';
import { eventsDue, eventsByPost, accessLossesByChannel } from './check/events.ts';
import type { Evidence, Violation } from './check/evidence.ts';
import { Owner } from './owner.ts';
import { simulateUser, untilMended } from './simulate-user.ts';
import { noteLostAccess, type PostHistory } from './post-history.ts';
import { removePosts } from './remove-posts.ts';
import { runOutages, type Stagehand } from './outages.ts';
import { readNetworks } from './networks/read-networks.ts';
import { callUntilAnswered, showPost } from './parts/calls.ts';
import type { Journal } from './parts/journal.ts';
import { aimAt, setTrap } from './parts/traps.ts';
import { untilAllCameAbout, type Seen } from './plan/plan-anew.ts';
import { factsOf } from './plan/platforms.ts';
import type { ChaosPlan, PostPlan } from './plan/post-plan.ts';
import { settleForgotten } from './restore.ts';
import { watchWorkers } from './watch-workers.ts';
import { prepareFaults, terminate, type World } from './world.ts';

/** The part of a plan that runs together: see `ChaosPlan`. */
type Phase = Pick<ChaosPlan, 'posts' | 'outages' | 'serverOutages' | 'traps' | 'channels'>;

/**
 * A run and its last phase: restores, and the posts that are made for them. The results of posts that are being sent
 * then are unknown afterwards, so this phase waits for all others, which a busy machine may delay.
 */
function inPhases(plan: ChaosPlan): { readonly first: Phase; readonly last: Phase } {
  const { posts, outages, windowMs } = plan;
  const isLast = (atMs: number): boolean => atMs > windowMs;
  return {
    first: {
      ...plan,
      posts: posts.filter(({ createMs }) => !isLast(createMs)),
      outages: outages.filter(({ atMs }) => !isLast(atMs)),
    },
    last: {
      posts: posts.filter(({ createMs }) => isLast(createMs)),
      outages: outages.filter(({ atMs }) => isLast(atMs)),
      serverOutages: [],
      traps: [],
      // Their access is already revoked.
      channels: [],
    },
  };
}

/**
 * In milliseconds: how long the posts may take to end after the last due time, and their events after that. A run stops
 * as soon as all posts have ended, which takes long on a machine with a load of 20.
 */
const patience = { short: 20 * 60_000, long: 40 * 60_000, events: 10 * 60_000 };

/** The sweep's interval in a short run, in milliseconds; the product sweeps each minute. */
const sweepEveryMs = 15_000;

/** The lead of the last phase's start, in milliseconds. */
const leadMs = 3000;

/** Moves the stage's times so that the first of these posts is created now or later. */
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

/** Runs the users of all posts and all faults, and collects the evidence. */
export async function runPosts(
  world: World,
  { plan, journal, startMs, folder }: RunPlan,
): Promise<{ evidence: Omit<Evidence, 'figures'>; violations: Violation[] }> {
  const deadlineMs = startMs + plan.windowMs + (plan.isLong ? patience.long : patience.short);
  const stage = stageOf(world, { plan, journal, startMs, folder, deadlineMs });
  const { channelIds, histories, owner } = stage;
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
      violations.push({ invariant: 'failed calls', marker, what });
    }
  };
  const simulateUsers = (during: Stage, posts: readonly PostPlan[]) =>
    Promise.all(
      posts.map((post) =>
        attempt(post.marker, async () => finished.push(await simulateUser(during, post))),
      ),
    );
  const { first, last } = inPhases(plan);
  await Promise.all([simulateUsers(stage, first.posts), runOutagesOf(first, startMs)]);
  const seen = (): Seen => {
    watch.poll();
    noteLostAccess(plan, journal, finished, channelIds);
    return { cameAbout: journal.cameAbout };
  };
  await untilAllCameAbout(plan, seen, journal.elapsedMs, async ({ posts, traps }) => {
    prepareFaults({ folder, faults: world.faults }, posts);
    for (const trap of traps) {
      setTrap(folder, trap);
    }
    const lastMs = Math.max(...posts.map(({ dueMs }) => dueMs));
    await simulateUsers({ ...stage, deadlineMs: startMs + lastMs + patience.short }, posts);
  });
  // Its times move to after the earlier phases.
  const late = shifted(stage, last.posts);
  await Promise.all([simulateUsers(late, last.posts), runOutagesOf(last, late.startMs)]);
  await settleAll(world, { attempt, stage, late, finished });
  await untilQuiet(world, owner, () => untilEventsArrive(world, finished, journal));
  for (const each of finished.filter(({ end }) => end !== null)) {
    each.end = await showPost(world.client, each.id);
  }
  const run = { plan, startMs, disturbances: journal.disturbances, histories: finished };
  const access = await readAccess(world, journal, owner);
  const evidence = { ...(await readWitnesses(world)), ...run, access };
  await attempt('', async () => violations.push(...(await removePosts(world, finished))));
  clearInterval(sweeping);
  [owner, watch].forEach((each) => each.close());
  return { evidence, violations };
}

/** Waits for reconnections and events, and repeats this a few times if networks refused refreshes meanwhile. */
async function untilQuiet(
  { lines }: World,
  owner: Owner,
  untilArrived: () => Promise<void>,
): Promise<void> {
  const refusals = () => lines.refreshes.filter(({ outcome }) => outcome === 'refused').length;
  for (let before = -1, round = 0; before < refusals() && round < 5; round += 1) {
    before = refusals();
    await owner.settle();
    await untilArrived();
  }
}

/** Posts that ended before a restore may be open after it, and some of their channels only a user can settle. */
async function settleAll(
  { channels }: World,
  { attempt, stage, late, finished }: Settling,
): Promise<void> {
  const again = finished.filter(({ restores, isGone }) => restores > 0 && !isGone);
  await Promise.all(again.map((each) => attempt(each.plan.marker, () => untilMended(late, each))));
  const found = again.length > 0 ? await readNetworks(channels) : [];
  for (const each of again) {
    await attempt(each.plan.marker, () => settleForgotten(stage, each, found));
  }
}

type Settling = {
  readonly attempt: (marker: string, run: () => Promise<unknown>) => Promise<void>;
  readonly stage: Stage;
  /** The stage of the last phase. */
  readonly late: Stage;
  readonly finished: readonly PostHistory[];
};

/** The records of the networks and the receiver. */
const readWitnesses = async ({ channels, lines, receiver, secret }: World) => ({
  channels,
  secret,
  found: await readNetworks(channels),
  creates: lines.all.flatMap(({ creates }) => creates),
  events: [...receiver.events],
});

/** The records of networks and processes about grants, and the channels' states in the API. */
async function readAccess(
  { channels, lines, client, processes }: World,
  { pauses, restores }: Journal,
  { mended, resent }: Owner,
): Promise<Evidence['access']> {
  const refreshes = [...lines.refreshes]; // Before the grants, which explain their refusals.
  const { reply } = await callUntilAnswered(() => client.get('/channels'));
  const states = new Map<string, string>(
    reply.body.channels.map(({ id, state }: { id: string; state: string }) => [id, state]),
  );
  const grants = await Promise.all(
    channels.map(async (each, channel) =>
      (await each.grants()).map(({ isRevoked, refreshTokens }) => ({
        channel,
        isRevoked,
        refreshTokens: refreshTokens.map(({ value }) => value),
      })),
    ),
  );
  return {
    refreshes,
    grants: grants.flat(),
    states: channels.map(({ id }) => states.get(id) ?? 'gone'),
    restores,
    ends: endsOf(processes),
    pauses,
    mended,
    resent,
  };
}

function stageOf(
  world: World,
  given: Pick<Stage, 'journal' | 'startMs' | 'deadlineMs'> & Pick<RunPlan, 'plan' | 'folder'>,
): Stage {
  const { folder, plan, ...rest } = given;
  const histories: PostHistory[] = [];
  const { client, channels } = world;
  const isDoomed = (_: unknown, index: number) => plan.channels[index]?.revokedAtMs !== null;
  const doomed = new Set(channels.filter(isDoomed).map(({ id }) => id));
  return {
    ...rest,
    client,
    owner: new Owner({ client, channels, doomed, journal: given.journal, histories }),
    cues: world.cues,
    channelIds: world.channels.map(({ id }) => id),
    videoChannels: new Set(
      world.channels.flatMap(({ platform }, index) =>
        factsOf(platform).needsVideo ? [index] : [],
      ),
    ),
    mediaIds: world.mediaIds,
    terminate: (postId) => terminate(world, postWorkflowId(postId)),
    aim: (postId, fault) => aimAt(folder, postId, fault),
    histories,
  };
}

/** Does nothing while Temporal is unavailable. */
function sweep({ temporalClient }: World): void {
  void temporalClient
    .withDeadline(Date.now() + 5000, () =>
      temporalClient.schedule.getHandle(sweepScheduleId).trigger(),
    )
    .catch(() => undefined);
}

const endsOf = (processes: World['processes']) =>
  processes.flatMap(({ name, ends }) => ends.map((atMs) => ({ name, atMs })));

/** Waits until the user's server has received every event that is due, or for ten minutes. */
async function untilEventsArrive(
  { receiver, channels, lines, processes }: World,
  histories: readonly PostHistory[],
  { restores, pauses }: Pick<Journal, 'restores' | 'pauses'>,
): Promise<void> {
  const giveUpAtMs = Date.now() + patience.events;
  const isMissing = (): boolean => {
    const byPost = eventsByPost(receiver.events);
    const losses = accessLossesByChannel(receiver.events);
    const access = { refreshes: lines.refreshes, restores, pauses, ends: endsOf(processes) };
    return (
      histories.some((each) => (byPost.get(each.id)?.size ?? 0) < eventsDue(each).least) ||
      channels.some(({ id }, index) => (losses.get(id) ?? 0) < lossesDue(access, index).least)
    );
  };
  while (isMissing() && Date.now() < giveUpAtMs) {
    await sleep(1000);
  }

  await sleep(3000); // An event that arrives now is surplus.
}
