import { revocationId } from '../post-history.ts';
import { needsFile } from './faults.ts';

import type { Platform } from './platforms.ts';
import type { ChaosPlan, PlannedFault, PlannedFile, PostPlan, Trap } from './post-plan.ts';

/** What is known of a run so far. */
export type Seen = {
  /** @param id A fault's of a post or of a channel, or a trap's. */
  readonly cameAbout: (id: string) => boolean;
};

/** Posts on which faults get another chance, and the traps that are set for them. */
export type Anew = { readonly posts: readonly PostPlan[]; readonly traps: readonly Trap[] };

/** A fault that had so many more chances and never came about is a fault of the suite, and fails the run. */
const mostRounds = 3;

/** In milliseconds: so long after it was created a post is due, and so long after the one before it. */
const leadMs = 3000;
const apartMs = 10_000;

/**
 * A fault may miss its post: another one kills the worker while the network's answer is on its way, or a busy machine
 * lets the request time out, and the next try finds the post on the network and does not send it again. So once all
 * posts have ended, what did not come about is planned anew on further posts, until nothing is missing.
 *
 * @param live Lets these posts come to their end.
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

/** A post of its own for each fault that is missing, one after the other so that no death takes another's chance. */
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
    ...traps.map(({ id }) => ({ name: id, channel: keptOn(plan, 'mastodon') })),
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
  const isNeeded = channels[channel]?.platform === 'youtube' || (fault && needsFile(fault.fault));
  return isNeeded ? [{ name: 'video', part: fault?.part ?? 1 }] : [];
}

/** A channel of this network that keeps its access. */
const keptOn = ({ channels }: ChaosPlan, network: Platform): number =>
  channels.findIndex(
    ({ platform, revokedAtMs, isFrail, isTried }) =>
      platform === network && revokedAtMs === null && !isFrail && !isTried,
  );
