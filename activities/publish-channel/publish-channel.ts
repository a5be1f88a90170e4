import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import { isFinal, type ChannelStatus } from '../../domain/post-status.ts';
import type { ActivityDeps } from '../deps.ts';
import { admit, type Wait } from './admit.ts';
import { begin } from './begin.ts';
import { dayEndMs, isDayOver } from './day.ts';
import { createIntent } from './intent.ts';
import { isOpen, isWhole, type Entry } from './ledger.ts';
import { waitingReconnectDeliveries } from './lose-access.ts';
import { openConnection } from './open-connection.ts';
import { recordFailure, recordStopped } from './record-failure.ts';
import { recordPublished } from './record-published.ts';
import { recordWait } from './record-wait.ts';
import { sendThread } from './send-thread.ts';
import { atServer, giveBack } from './server-place.ts';
import { setbackOf, StoppedError, type Setback } from './setback.ts';
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

  if (!target.isPublishing && !target.isFinishing) {
    return notTried(deps, target);
  }

  const wait = await mustWait(deps, target);
  if (wait && wait.atMs <= dayEndMs(target)) {
    if (await recordWait(deps, target, wait)) {
      throw tryAgain(deps, wait.code, wait.atMs);
    }

    return { status: 'draft', deliveryIds: [] };
  }

  const ledger = await begin(deps, target);
  if (ledger === null) {
    return notTried(deps, target);
  }

  if (wait || (isDayOver(deps, target) && !ledger.some(isOpen) && !isWhole(ledger))) {
    await giveBack(deps, target);
    const message = wait?.message ?? 'Nobody came to it in time.';
    return fail(deps, target, { code: 'too_late', message, limit: 'channel' }, ledger);
  }

  try {
    await atServer(deps, target, () => publish(deps, target, ledger));
    return { status: 'published', code: null, deliveryIds: [] };
  } catch (error) {
    if (error instanceof StoppedError) {
      return { status: await recordStopped(deps, target), deliveryIds: [] };
    }

    return fail(deps, target, setbackOf(deps, target, error), ledger);
  }
}

async function notTried(deps: ActivityDeps, target: PublishTarget): Promise<ChannelOutcome> {
  await giveBack(deps, target);
  return { status: 'draft', deliveryIds: [] };
}

/** What keeps a try from beginning now. Once the channel's day is over, all that is left is a look at what is in doubt. */
async function mustWait(deps: ActivityDeps, target: PublishTarget): Promise<Wait | null> {
  if (target.begun || isDayOver(deps, target)) {
    return null;
  }

  const wait = await admit(deps, target);
  return wait && target.isInDoubt ? { ...wait, atMs: Math.min(wait.atMs, dayEndMs(target)) } : wait;
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

/** @param ledger As the try began. @returns the channel's end, if this is it. */
async function fail(
  deps: ActivityDeps,
  target: PublishTarget,
  setback: Setback,
  ledger: readonly Entry[],
): Promise<ChannelOutcome> {
  const recorded = await recordFailure(deps, target, setback, ledger);
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
