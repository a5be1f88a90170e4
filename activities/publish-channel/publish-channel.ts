import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import { nextTry } from '../../domain/next-try.ts';
import { isFinal, type ChannelStatus } from '../../domain/post-status.ts';
import type { ActivityDeps } from '../deps.ts';
import { admit } from './admit.ts';
import { begin } from './begin.ts';
import { createIntent } from './intent.ts';
import type { Entry } from './ledger.ts';
import { waitingReconnectDeliveries } from './lose-access.ts';
import { openConnection } from './open-connection.ts';
import { recordFailure } from './record-failure.ts';
import { recordPublished } from './record-published.ts';
import { recordWait } from './record-wait.ts';
import { sendThread } from './send-thread.ts';
import { atServer, giveBack } from './server-place.ts';
import { setbackOf, type Setback } from './setback.ts';
import { loadTarget, type PublishRequest, type PublishTarget } from './target.ts';

/** Temporal calls again after this at the soonest, in milliseconds. */
const shortestDelayMs = 100;

/**
 * And after this at the latest where a rate limit is waited for, which may be a day: an operator may have removed it, and
 * nothing else wakes who waits.
 */
const longestDelayMs = 15 * 60_000;

export type ChannelOutcome = {
  readonly status: ChannelStatus;
  /** Why it has no post, for people who look at the workflow. */
  readonly code?: ChannelErrorCode | null;
  /** Deliveries of a `channel.needs_reconnect` event that wait for their workflow. */
  readonly deliveryIds: readonly string[];
};

/**
 * One try to bring a post onto one channel. Safe to repeat at any point: it starts at the ledger, and a part
 * that may have been sent is looked for on the network, never sent blindly.
 *
 * @throws ApplicationFailure typed with the channel's error code and the delay until the next try.
 */
export async function publishChannel(
  deps: ActivityDeps,
  request: PublishRequest,
): Promise<ChannelOutcome> {
  const target = await loadTarget(deps, request);
  if (!target) {
    return { status: 'draft', deliveryIds: [] };
  }

  if (isFinal(target.status)) {
    // An earlier try ended it, and its answer was lost on the way to Temporal.
    const deliveryIds = await waitingReconnectDeliveries(deps, target);
    return { status: target.status, code: target.errorCode, deliveryIds };
  }

  if (!target.isPublishing) {
    return notTried(deps, target);
  }

  const wait = target.begun ? null : await admit(deps, target);
  if (wait && !isOver(deps, target, wait.atMs)) {
    if (await recordWait(deps, target, wait)) {
      throw tryAgain(deps, wait.code, wait.atMs);
    }

    return { status: 'draft', deliveryIds: [] };
  }

  const ledger = await begin(deps, target);
  if (ledger === null) {
    return notTried(deps, target);
  }

  if (wait) {
    await giveBack(deps, target);
    return fail(deps, target, { code: 'too_late', message: wait.message, limit: 'channel' });
  }

  try {
    await atServer(deps, target, () => publish(deps, target, ledger));
    return { status: 'published', code: null, deliveryIds: [] };
  } catch (error) {
    return fail(deps, target, setbackOf(deps, target, error));
  }
}

async function notTried(deps: ActivityDeps, target: PublishTarget): Promise<ChannelOutcome> {
  await giveBack(deps, target);
  return { status: 'draft', deliveryIds: [] };
}

/** Whether the channel will have been given up by then. */
function isOver(deps: ActivityDeps, target: PublishTarget, retryAtMs: number): boolean {
  const limited = { code: 'rate_limited', retryAtMs } as const;
  const [dueAtMs, nowMs] = [target.dueAt.getTime(), deps.now().getTime()];
  return nextTry(limited, target.tries, dueAtMs, nowMs).kind === 'give_up';
}

async function publish(
  deps: ActivityDeps,
  target: PublishTarget,
  ledger: readonly Entry[],
): Promise<void> {
  const network = deps.networks[target.platform];
  if (!network) {
    throw new Error(`This worker knows no network "${target.platform}".`);
  }

  const intent = createIntent(deps);
  const connection = openConnection(deps, target, intent);
  const live = await sendThread({ deps, target, network, connection, intent }, ledger);
  await recordPublished(deps, target, live);
}

/** @returns the channel's end, if this is it. */
async function fail(
  deps: ActivityDeps,
  target: PublishTarget,
  setback: Setback,
): Promise<ChannelOutcome> {
  const recorded = await recordFailure(deps, target, setback);
  if (recorded.kind === 'final') {
    const { status, code, deliveryIds } = recorded;
    return { status, code, deliveryIds };
  }

  throw tryAgain(deps, recorded.code, recorded.atMs);
}

function tryAgain(deps: ActivityDeps, code: ChannelErrorCode, atMs: number): ApplicationFailure {
  const waitMs = Math.max(atMs - deps.now().getTime(), shortestDelayMs);
  return ApplicationFailure.create({
    type: code,
    message: `${code}; the next try is at ${new Date(atMs).toISOString()}`,
    nextRetryDelay: code === 'rate_limited' ? Math.min(waitMs, longestDelayMs) : waitMs,
    // Nothing is wrong with the worker, unless it says so.
    ...(code !== 'internal' && { category: ApplicationFailureCategory.BENIGN }),
  });
}
