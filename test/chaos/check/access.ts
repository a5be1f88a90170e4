import type { SeenRefresh } from '../networks/refreshes.ts';
import { isRotating } from '../plan/platforms.ts';
import type { AccessEvidence, Evidence, GivenGrant, Violation } from './evidence.ts';

/** Checks grants: no token is sent twice, and no channel is without access at the end. */
export const checkAccess = (evidence: Evidence): Violation[] => [
  ...checkTokens(evidence),
  ...checkLosses(evidence),
  ...checkStates(evidence),
];

/** The time between a response and the commit of its tokens, in milliseconds. */
const commitsWithinMs = 5000;
/** How long after its end a suspended worker may send a refresh that it began before: its lease has expired. */
const lateAfterPauseMs = 15_000;
/** How long a commit may take after the database returns, in milliseconds. */
const backWithinMs = 20_000;

/** A refresh token is not sent again after a response that ends it, unless the result may have been lost. */
function checkTokens(evidence: Evidence): Violation[] {
  const byToken = Map.groupBy(
    evidence.access.refreshes,
    ({ channel, token }) => `${channel} ${token}`,
  );
  return [...byToken.values()].flatMap((asked) =>
    asked.slice(1).flatMap((again, index): Violation[] => {
      const before = asked.slice(0, index + 1).findLast((each) => endsToken(evidence, each));
      return before === undefined || isExplained(evidence, before, again)
        ? []
        : [
            {
              invariant: 'refresh tokens sent again',
              marker: '',
              what: `${nameOf(evidence, before.channel)}: at ${timeOf(before.askedAtMs)} by ${before.worker} (${before.outcome}), and at ${timeOf(again.askedAtMs)} by ${again.worker}`,
            },
          ];
    }),
  );
}

const endsToken = ({ channels }: Evidence, { channel, outcome }: SeenRefresh): boolean => {
  const platform = channels[channel]?.platform;
  const isSpent = platform !== undefined && isRotating(platform);
  return outcome === 'refused' || (isSpent && (outcome === 'renewed' || outcome === 'lost'));
};

function isExplained(evidence: Evidence, before: SeenRefresh, again: SeenRefresh): boolean {
  const { access, plan, startMs } = evidence;
  const { askedAtMs, answeredAtMs, worker } = before;
  const isAway = (atMs: number): boolean =>
    plan.outages.some(
      (outage) =>
        outage.what === 'PostgreSQL away' &&
        startMs + outage.atMs <= atMs &&
        atMs <= startMs + outage.atMs + outage.forMs + backWithinMs,
    );
  const isForgotten = access.restores.some(
    ({ backupAtMs, restoredAtMs }) =>
      answeredAtMs >= backupAtMs - commitsWithinMs &&
      askedAtMs <= restoredAtMs &&
      again.askedAtMs >= backupAtMs,
  );
  const hasDied = access.ends.some(
    ({ name, atMs }) =>
      name === worker &&
      atMs >= askedAtMs &&
      atMs <= again.askedAtMs &&
      (atMs <= answeredAtMs + commitsWithinMs || isAway(atMs)),
  );
  const stoodStill = access.pauses.some(
    ({ fromMs, untilMs }) =>
      fromMs <= answeredAtMs + commitsWithinMs && untilMs + lateAfterPauseMs >= askedAtMs,
  );
  return before.outcome === 'lost' || isForgotten || hasDied || stoodStill;
}

/** A network may refuse a refresh only after it ended the grant, by its own records. */
const checkLosses = (evidence: Evidence): Violation[] =>
  refusals(evidence)
    .filter(({ channel, token }) => !grantOf(evidence, channel, token)?.isRevoked)
    .map(({ channel, askedAtMs }) => ({
      invariant: 'access lost without a cause',
      marker: '',
      what: `${nameOf(evidence, channel)}: a refresh was refused at ${timeOf(askedAtMs)}, and the network has not ended the grant`,
    }));

/** Each channel that can be reconnected is connected at the end. */
const checkStates = ({ access, channels, plan }: Evidence): Violation[] =>
  channels.flatMap(({ platform }, index): Violation[] => {
    const state = access.states[index];
    return state === 'connected' || plan.channels[index]?.revokedAtMs !== null
      ? []
      : [
          {
            invariant: 'access lost without a cause',
            marker: '',
            what: `${platform} channel ${index} is ${state} at the end`,
          },
        ];
  });

const refusals = ({ access }: Evidence, channel?: number): SeenRefresh[] =>
  access.refreshes.filter(
    (each) => each.outcome === 'refused' && (channel === undefined || each.channel === channel),
  );

const grantOf = ({ access }: Evidence, channel: number, token: string): GivenGrant | undefined =>
  access.grants.find((grant) => grant.channel === channel && grant.refreshTokens.includes(token));

export const hasGrants = ({ access }: Pick<Evidence, 'access'>, channel: number): boolean =>
  access.grants.some((grant) => grant.channel === channel);

/** Whether the network has ended a grant of this channel and refused a refresh for it. */
export const hasLostGrant = (evidence: Evidence, channel: number): boolean =>
  refusals(evidence, channel).some(({ token }) => grantOf(evidence, channel, token)?.isRevoked);

/**
 * How many events of lost access are due: one for each lost grant. A restore may lose an event that was recorded since
 * its backup. A suspended worker records it late, and a killed worker never; the next refusal creates another one. Only
 * the last refusal of a token counts: a worker asks again after one that it could not store.
 */
export function lossesDue(
  {
    refreshes,
    restores,
    pauses,
    ends,
  }: Pick<AccessEvidence, 'refreshes' | 'restores' | 'pauses' | 'ends'>,
  channel: number,
): { readonly least: number; readonly most: number } {
  const refused = refreshes.filter(
    (each) => each.channel === channel && each.outcome === 'refused',
  );
  const refusedByToken = Map.groupBy(refused, ({ token, askedAtMs }) => {
    const restored = restores.filter(({ restoredAtMs }) => restoredAtMs <= askedAtMs);
    return `${token} ${restored.length}`;
  });
  const isSure = ({ askedAtMs, answeredAtMs, worker }: SeenRefresh): boolean => {
    const hasDied = ends.some(
      ({ name, atMs }) =>
        name === worker && askedAtMs <= atMs && atMs <= answeredAtMs + commitsWithinMs,
    );
    const suspended = pauses.filter(
      ({ fromMs, untilMs }) => fromMs <= askedAtMs + commitsWithinMs && askedAtMs <= untilMs,
    );
    const committedByMs = hasDied
      ? Infinity
      : Math.max(askedAtMs, ...suspended.map(({ untilMs }) => untilMs)) + commitsWithinMs;
    return !restores.some(
      ({ backupAtMs, restoredAtMs }) => committedByMs >= backupAtMs && askedAtMs <= restoredAtMs,
    );
  };
  const all = [...refusedByToken.values()];
  const least = all.filter((asked) => asked.slice(-1).some(isSure)).length;
  return { least, most: all.length };
}

const nameOf = ({ channels }: Evidence, channel: number): string =>
  `${channels[channel]?.platform} channel ${channel}`;

const timeOf = (ms: number): string => new Date(ms).toISOString();
