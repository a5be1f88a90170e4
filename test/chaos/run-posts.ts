import { setTimeout as sleep } from 'node:timers/promises';
import { postWorkflowId, sweepScheduleId } from '../../workflows/messages.ts';
import type { Stage } from './change-post.ts';
import { lossesDue } from './check/access.ts';
import { eventsDue, eventsByPost, lossesTold } from './check/events.ts';
import type { Evidence, Violation } from './check/evidence.ts';
import { Owner } from './owner.ts';
import { simulateUser, untilEnded, untilMended } from './simulate-user.ts';
import { noteLostAccess, type PostHistory } from './post-history.ts';
import { runOutages, type Stagehand } from './outages.ts';
import { readNetworks } from './networks/read-networks.ts';
import { callUntilAnswered, showPost } from './parts/calls.ts';
import type { Journal } from './parts/journal.ts';
import { aimAt, setTrap } from './parts/traps.ts';
import { inPhases } from './plan/phases.ts';
import { untilAllCameAbout, type Seen } from './plan/plan-anew.ts';
import type { ChaosPlan, PostPlan } from './plan/post-plan.ts';
import { settleForgotten } from './restore.ts';
import { watchWorkers } from './watch-workers.ts';
import { prepareFaults, terminate, type World } from './world.ts';

/**
 * Milliseconds that everything may take to end after the last post was due, and its events after that. A run ends as
 * soon as all posts have; on a machine at a load of 20 that takes long.
 */
const patience = { short: 20 * 60_000, long: 40 * 60_000, events: 10 * 60_000 };

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
      violations.push({ invariant: 'calls that went wrong', marker, what });
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
    watch.look();
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
  // Its times are moved to when all of that is over.
  const late = shifted(stage, last.posts);
  await Promise.all([simulateUsers(late, last.posts), runOutagesOf(last, late.startMs)]);
  await settleAll(world, { attempt, stage, late, finished });
  await owner.settle();
  await untilEventsArrive(world, finished, journal);
  for (const each of finished.filter(({ end }) => end !== null)) {
    each.end = await showPost(world.client, each.id);
  }
  clearInterval(sweeping);
  owner.close();
  watch.close();
  const run = { plan, startMs, disturbances: journal.disturbances, histories: finished };
  const access = await readAccess(world, journal, owner);
  const evidence = { ...(await readWitnesses(world)), ...run, access };
  return { evidence, violations };
}

/** What was over before the restore may not be so after it, and nobody but its user can settle some of it. */
async function settleAll(
  { channels }: World,
  { attempt, stage, late, finished }: Settling,
): Promise<void> {
  const again = finished.filter(({ restores, isGone }) => restores > 0 && !isGone);
  await Promise.all(again.map((each) => attempt(each.plan.marker, () => endAgain(late, each))));
  const found = again.length > 0 ? await readNetworks(channels) : [];
  for (const each of again) {
    await attempt(each.plan.marker, () => settleForgotten(stage, each, found));
  }
}

type Settling = {
  readonly attempt: (marker: string, run: () => Promise<unknown>) => Promise<void>;
  readonly stage: Stage;
  /** On which the last phase was. */
  readonly late: Stage;
  readonly finished: readonly PostHistory[];
};

/** What networks and the receiver have seen. */
const readWitnesses = async ({ channels, lines, receiver, secret }: World) => ({
  channels,
  secret,
  found: await readNetworks(channels),
  creates: lines.all.flatMap(({ creates }) => creates),
  events: receiver.taken,
});

/** What networks and processes know of grants, and what the API says of channels. */
async function readAccess(
  { channels, lines, client, processes }: World,
  { pauses, restores }: Journal,
  { mended, resent }: Owner,
): Promise<Evidence['access']> {
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
    refreshes: lines.refreshes,
    grants: grants.flat(),
    states: channels.map(({ id }) => states.get(id) ?? 'gone'),
    restores,
    ends: processes.flatMap(({ name, ends }) => ends.map((atMs) => ({ name, atMs }))),
    pauses,
    mended,
    resent,
  };
}

async function endAgain(stage: Stage, history: PostHistory): Promise<void> {
  history.end = await untilEnded(stage, history);
  await untilMended(stage, history);
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
      world.channels.flatMap(({ platform }, index) => (platform === 'youtube' ? [index] : [])),
    ),
    mediaIds: world.mediaIds,
    terminate: (postId) => terminate(world, postWorkflowId(postId)),
    aim: (postId, fault) => aimAt(folder, postId, fault),
    histories,
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
  { receiver, channels, lines }: World,
  histories: readonly PostHistory[],
  { restores }: Pick<Journal, 'restores'>,
): Promise<void> {
  const giveUpAtMs = Date.now() + patience.events;
  const isMissing = (): boolean => {
    const heard = eventsByPost(receiver.taken);
    const told = lossesTold(receiver.taken);
    const access = { refreshes: lines.refreshes, restores };
    return (
      histories.some((each) => (heard.get(each.id)?.size ?? 0) < eventsDue(each).least) ||
      channels.some(({ id }, index) => (told.get(id) ?? 0) < lossesDue(access, index).least)
    );
  };
  while (isMissing() && Date.now() < giveUpAtMs) {
    await sleep(1000);
  }

  await sleep(3000); // What comes now is one too many.
}
