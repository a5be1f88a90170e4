import type { PostHistory } from '../post-history.ts';
import { hasLostGrant } from './access.ts';
import type { Evidence, Violation } from './evidence.ts';

/**
 * How late a post may be, in milliseconds. The machine is slow while processes die: without a bound it would be 20 s
 * and more.
 */
const patienceMs = 8000;

/** How long before and after its due time a post must be free of faults that affect all posts. */
const quiet = { beforeMs: 25_000, afterMs: patienceMs };

/** While a server hangs, posts on other servers go out on time unless something else delays them. */
export const checkOthersOnTime = (evidence: Evidence): Violation[] =>
  othersOfHangs(evidence).flatMap((history): Violation[] => {
    const { marker, channels } = history.plan;
    const latestMs = dueMsOf(history) + patienceMs;
    const inTime = evidence.creates.filter(
      ({ labels, askedAtMs }) => labels[0]?.marker === marker && askedAtMs <= latestMs,
    );
    const accounts = new Set(inTime.map(({ account }) => account)).size;
    return accounts < channels.length
      ? [
          {
            invariant: 'late while another server hung',
            marker,
            what: `${accounts} of ${channels.length} accounts got their request within ${patienceMs / 1000} s of its due time`,
          },
        ]
      : [];
  });

/** Posts without a delay of their own that were due while a server hung that they do not use. */
export function othersOfHangs(evidence: Evidence): PostHistory[] {
  const { plan, histories, startMs, disturbances } = evidence;
  const hangs = plan.serverOutages
    .filter(({ what }) => what === 'server hangs')
    .map(({ atMs, forMs }) => ({ fromMs: startMs + atMs + 2000, untilMs: startMs + atMs + forMs }));
  const isQuiet = (ms: number): boolean =>
    disturbances.every((each) => each < ms - quiet.beforeMs || each > ms + quiet.afterMs);
  return histories.filter((each) => {
    const { steps, faults, files, channels } = each.plan;
    const dueMs = dueMsOf(each);
    return (
      steps.length === 0 &&
      faults.length === 0 &&
      // Uploads take any time.
      files.length === 0 &&
      each.restores === 0 &&
      channels.every((channel) => isSound(evidence, channel)) &&
      hangs.some(({ fromMs, untilMs }) => dueMs >= fromMs && dueMs <= untilMs) &&
      isQuiet(dueMs)
    );
  });
}

function isSound(evidence: Evidence, number: number): boolean {
  const channel = evidence.plan.channels[number];
  const keepsAccess = channel?.revokedAtMs === null && !hasLostGrant(evidence, number);
  return keepsAccess && !channel.isFrail && !channel.isTried;
}

/** When it could first go out. */
const dueMsOf = ({ inForce: [first] }: PostHistory): number =>
  first ? Math.max(first.dueMs, first.fromMs) : Infinity;
