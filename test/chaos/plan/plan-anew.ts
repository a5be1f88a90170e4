import { revocationId } from '../post-history.ts';
import { needsFile } from './faults.ts';
import { needsVideo } from './files.ts';
import { byTurns, platforms, type Platform } from './platforms.ts';
import type { ChaosPlan, PlannedFault, PlannedFile, PostPlan, Trap } from './post-plan.ts';

/** The faults of a run that have been applied. */
export type Seen = {
  /** @param id The id of a fault of a post or a channel, or of a trap. */
  readonly cameAbout: (id: string) => boolean;
};

/** Posts that repeat missed faults, and the traps that are set for them. */
export type Anew = { readonly posts: readonly PostPlan[]; readonly traps: readonly Trap[] };

/** A fault that is still missing after this many more rounds is an error of the suite, and fails the run. */
const mostRounds = 3;

/** In milliseconds: how long after its creation a post is due, and how long after the one before it. */
const leadMs = 3000;
const apartMs = 10_000;

/**
 * A fault may miss its post: another one kills the worker while the network responds, or a busy machine lets the
 * request time out, and the next attempt finds the post and does not send it again. So once all posts have ended,
 * missed faults are planned again on further posts, until none is missing.
 *
 * @param live Runs these posts until they end.
 */
export async function untilAllCameAbout(
  plan: ChaosPlan,
  seen: () => Seen,
  elapsedMs: () => number,
  live: (anew: Anew) => Promise<void>,
): Promise<void> {
  for (let round = 1; round <= mostRounds; round += 1) {
    const anew = planAnew(plan, seen(), { round, atMs: elapsedMs() });
    if (anew.posts.length === 0) {
      return;
    }

    await live(anew);
  }
}

type Round = { readonly round: number; readonly atMs: number };

/** One post for each missing fault, one after the other, so that no death prevents another fault. */
function planAnew(plan: ChaosPlan, { cameAbout }: Seen, { round, atMs }: Round): Anew {
  const faults = plan.posts.flatMap((post) =>
    post.faults.filter(({ id, mayMiss }) => !mayMiss && !cameAbout(id)),
  );
  const traps = plan.traps.filter(({ id }) => !cameAbout(id));
  const revoked = plan.channels.flatMap(({ revokedAtMs }, index) =>
    revokedAtMs === null || cameAbout(revocationId(index)) ? [] : [index],
  );
  // It still waits for its channel's next refresh, which a post has to cause.
  const refreshFaults = plan.refreshFaults.filter(({ id }) => !cameAbout(id));
  const wanted: readonly { name: string; channel: number; fault?: PlannedFault }[] = [
    ...faults.map((fault) => ({ name: fault.id, channel: keptOn(plan, fault.platform), fault })),
    ...traps.map(({ id }) => ({ name: id, channel: keptOn(plan, byTurns(platforms, 0)) })),
    ...refreshFaults.map(({ id, channel }) => ({ name: id, channel })),
    ...revoked.map((channel) => ({ name: `channel${channel}`, channel })),
  ];
  const posts = wanted.map(({ name, channel, fault }, index): PostPlan => {
    const createMs = atMs + index * apartMs;
    return {
      marker: `${name}-again${round}`,
      parts: fault?.part ?? 1,
      channels: [channel],
      createMs,
      dueMs: createMs + leadMs,
      steps: [],
      files: filesFor(plan, channel, fault),
      faults: fault ? [fault] : [],
    };
  });
  return { posts, traps };
}

function filesFor(
  { channels }: ChaosPlan,
  channel: number,
  fault: PlannedFault | undefined,
): PlannedFile[] {
  const isNeeded = needsVideo(channels[channel]) || (fault && needsFile(fault.fault));
  return isNeeded ? [{ name: 'video', part: fault?.part ?? 1 }] : [];
}

/** A channel of this network that keeps its access. */
const keptOn = ({ channels }: ChaosPlan, network: Platform): number =>
  channels.findIndex(
    ({ platform, revokedAtMs, isFrail, isTried }) =>
      platform === network && revokedAtMs === null && !isFrail && !isTried,
  );
