import type { PostHistory } from '../post-history.ts';
import { hasLostGrant } from './access.ts';
import type { Evidence, Violation } from './evidence.ts';

/** In milliseconds. A machine on which everything dies is slow: without a bound it would be 20 s and more. */
const patienceMs = 8000;

/** So long before a post's time and after it nothing may have befallen everybody. */
const quiet = { beforeMs: 25_000, afterMs: patienceMs };

/** While a server hangs, posts on others go out on time, where nothing else holds them up. */
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
            what: `${accounts} of ${channels.length} accounts were asked within ${patienceMs / 1000} s of its time`,
          },
        ]
      : [];
  });

/** Posts that were due while a server hung which is none of theirs, and that nothing else kept waiting. */
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
      // It takes as long as it takes to bring them.
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
