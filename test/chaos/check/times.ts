import type { PostHistory } from '../post-history.ts';
import type { SeenCreate } from '../networks/network-line.ts';
import { eachSent, type Evidence, type Violation } from './evidence.ts';

/** Compares when posts went out with the calls that the API had acknowledged by then. */
export function checkTimes(evidence: Evidence): Violation[] {
  const { creates, histories } = evidence;
  const byMarker = Map.groupBy(creates, ({ labels }) => labels[0]?.marker ?? '');
  return [
    ...histories.flatMap((each) => checkDue(each, byMarker.get(each.plan.marker) ?? [])),
    ...histories.flatMap((each) => checkCancels(each, byMarker.get(each.plan.marker) ?? [])),
    ...checkTexts(evidence),
    ...histories.flatMap((each) => checkVersions(each, byMarker.get(each.plan.marker) ?? [])),
  ];
}

/** Each request was preceded by a moment at which a due time that may have been in force had passed. */
function checkDue({ plan, inForce }: PostHistory, asked: readonly SeenCreate[]): Violation[] {
  return asked
    .filter(
      ({ askedAtMs }) =>
        !inForce.some(
          ({ dueMs, fromMs, untilMs }) => Math.max(fromMs, dueMs) <= Math.min(askedAtMs, untilMs),
        ),
    )
    .map(({ askedAtMs }) => ({
      invariant: 'published before its time',
      marker: plan.marker,
      what: `a network got a request at ${new Date(askedAtMs).toISOString()}; its due times: ${inForce.map(({ dueMs }) => new Date(dueMs).toISOString()).join(', ')}`,
    }));
}

/** After a cancel only the channels go on that it reported as still sending, until the post is rescheduled. */
function checkCancels({ plan, cancels }: PostHistory, asked: readonly SeenCreate[]): Violation[] {
  return cancels.flatMap(({ ackAtMs, stillSending, untilMs }): Violation[] => {
    const after = asked.filter(({ askedAtMs }) => askedAtMs > ackAtMs && askedAtMs < untilMs);
    const accounts = new Set(after.map(({ account }) => account));
    return accounts.size > stillSending
      ? [
          {
            invariant: 'published after an acknowledged cancel',
            marker: plan.marker,
            what: `the cancel reported ${stillSending} channels as still sending, but ${accounts.size} got requests after it`,
          },
        ]
      : [];
  });
}

/** Each live post has a version that was in force when it went out. */
const checkTexts = (evidence: Evidence): Violation[] =>
  eachSent(evidence).flatMap(({ history, found }) => {
    const asked = evidence.creates
      .filter(({ labels }) => labels.some(({ marker }) => marker === history.plan.marker))
      .map(({ askedAtMs }) => askedAtMs);
    const firstMs = Math.min(...asked);
    const possible = new Set(
      history.inForce
        .filter(({ untilMs }) => untilMs > firstMs || history.cancels.length > 0)
        .map(({ version }) => version),
    );
    const stale = found.filter(({ version }) => !possible.has(version));
    return stale.length === 0
      ? []
      : [
          {
            invariant: 'published without an acknowledged edit',
            marker: history.plan.marker,
            what: `version ${stale[0]?.version} is live, but version ${history.version} was acknowledged`,
          } as const,
        ];
  });

/** No request carries a text after another one was acknowledged, except for sends that a cancel lets finish. */
function checkVersions(
  { plan, inForce, cancels }: PostHistory,
  asked: readonly SeenCreate[],
): Violation[] {
  const mayGo = ({ labels: [label], askedAtMs }: SeenCreate): boolean =>
    inForce.some(
      ({ version, fromMs, untilMs }) =>
        version === label?.version && fromMs <= askedAtMs && askedAtMs <= untilMs,
    ) || cancels.some(({ stillSending, ackAtMs }) => stillSending > 0 && ackAtMs <= askedAtMs);
  return asked
    .filter((each) => !mayGo(each))
    .map(({ labels, askedAtMs }) => ({
      invariant: 'published without an acknowledged edit',
      marker: plan.marker,
      what: `a request had version ${labels[0]?.version} at ${new Date(askedAtMs).toISOString()}, when another one was in force`,
    }));
}
