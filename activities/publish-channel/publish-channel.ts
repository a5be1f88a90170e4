import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { regainAccess } from '../../accounts/lose-access.ts';
import { isWhole, type Entry } from '../../db/ledger/entries.ts';
import { isOpen } from '../../db/ledger/part-states.ts';
import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import { type ChannelStatus, isFinal } from '../../domain/post-status.ts';
import { openConnection, openedGrant } from '../account/connection.ts';
import { judgeRefusal } from '../account/refused-token.ts';
import type { ActivityDeps } from '../deps.ts';
import { awaitReadiness, ProcessingError } from './await-readiness.ts';
import { classifyError, StoppedError, type PublishFailure } from './classify-error.ts';
import { disconnected, recordWhole } from './end-disconnected.ts';
import { createIntent } from './intent.ts';
import { dayEndMs, isDayOver, type PublishJob, type PublishRequest } from './job.ts';
import { keepUploads } from './kept-uploads.ts';
import { waitingReconnectDeliveries } from './new-access.ts';
import { checkPacing, recordWait, type Wait } from './pacing.ts';
import { readJobEntries } from './reconcile.ts';
import { recordFailure, recordStopped } from './record-failure.ts';
import { recordSuccess } from './record-success.ts';
import { recordUnseen } from './record-unseen.ts';
import { sendThread } from './send-thread.ts';
import { atServer, giveBack } from './server-slots.ts';
import { createSpending } from './spending.ts';
import { loadAndStart, startAttempt } from './start-attempt.ts';

/** In milliseconds, over all requests of one try. Below the activity's startToCloseTimeout. */
const tryTimeoutMs = 4 * 60_000;

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
  const job = await loadAndStart(deps, request);
  if (!job) {
    return { status: 'draft', deliveryIds: [] };
  }

  if (isFinal(job.status)) {
    // An earlier try ended it, and its answer was lost on the way to Temporal.
    const deliveryIds = await waitingReconnectDeliveries(deps, job);
    return { status: job.status, code: job.errorCode, deliveryIds };
  }

  if (!job.isPublishing && !job.isFinishing) {
    return notTried(deps, job);
  }

  if (job.isDisconnected) {
    return endDisconnected(deps, job);
  }

  const wait = await waitFor(deps, job);
  if (wait && wait.atMs <= dayEndMs(job)) {
    if (await recordWait(deps, job, wait)) {
      throw tryAgain(deps, wait.code, wait.atMs);
    }

    return { status: 'draft', deliveryIds: [] };
  }

  const ledger = await startAttempt(deps, job);
  if (ledger === null) {
    return notTried(deps, job);
  }

  if (wait || (isDayOver(deps, job) && !ledger.some(isOpen) && !isWhole(ledger))) {
    await giveBack(deps, job);
    const message = wait?.message ?? 'Nobody came to it in time.';
    return fail(deps, job, { code: 'too_late', message, limit: 'channel' }, ledger);
  }

  try {
    await atServer(deps, job, () => publish(deps, job, ledger));
  } catch (error) {
    return endTry(deps, job, error, ledger);
  }

  if (job.isLost) {
    await deps.orm.em
      .fork()
      .transactional((em) => regainAccess(em, deps, job, job.account.sealedCredentials));
  }

  return { status: 'published', code: null, deliveryIds: [] };
}

/** What follows when a try did not bring the post onto the channel. */
async function endTry(
  deps: ActivityDeps,
  job: PublishJob,
  error: unknown,
  ledger: readonly Entry[],
): Promise<ChannelOutcome> {
  if (error instanceof StoppedError) {
    return { status: await recordStopped(deps, job), deliveryIds: [] };
  }

  if (error instanceof ProcessingError) {
    throw tryAgain(deps, 'processing', error.atMs);
  }

  return fail(deps, job, classifyError(deps, job, error), ledger);
}

async function notTried(deps: ActivityDeps, job: PublishJob): Promise<ChannelOutcome> {
  await giveBack(deps, job);
  return { status: 'draft', deliveryIds: [] };
}

async function endDisconnected(deps: ActivityDeps, job: PublishJob): Promise<ChannelOutcome> {
  const ledger = await readJobEntries(deps, job);
  return (await recordWhole(deps, job, ledger))
    ? { status: 'published', code: null, deliveryIds: [] }
    : fail(deps, job, disconnected, ledger);
}

/** What keeps a try from beginning now: nothing, once the network has all of it. Once the channel's day is over, all that is left is a look at what is in doubt. */
async function waitFor(deps: ActivityDeps, job: PublishJob): Promise<Wait | null> {
  if (job.startedWith || job.isTaken || isDayOver(deps, job)) {
    return null;
  }

  const wait = await checkPacing(deps, job);
  return wait && job.isInDoubt ? { ...wait, atMs: Math.min(wait.atMs, dayEndMs(job)) } : wait;
}

async function publish(
  deps: ActivityDeps,
  job: PublishJob,
  ledger: readonly Entry[],
): Promise<void> {
  const network = deps.networks[job.platform];
  if (!network) {
    throw new Error(`This worker knows no network "${job.platform}".`);
  }

  const intent = createIntent(deps);
  const uploads = keepUploads(deps, job);
  const current = await openedGrant(deps, job);
  const connection = openConnection(deps, job, {
    grant: current?.grant ?? null,
    signal: AbortSignal.timeout(tryTimeoutMs),
    uploadsOf: uploads.uploadsOf,
    saveUploads: uploads.saveUploads,
    mayCreate: intent.isYoung,
  });
  const spending = createSpending(deps, job, connection);
  const seen = new Map<string, string | undefined>();
  const attempt = { deps, job, network, connection, intent, uploads, spending, seen };
  try {
    const live = await sendThread(attempt, ledger);
    await recordSuccess(deps, job, await awaitReadiness(attempt, live));
  } catch (error) {
    // Where the database is away the day's count stays too high, which is no reason to hide the error.
    await spending.giveBack().catch(() => undefined);
    throw await judgeRefusal(deps, job, current, error);
  }
}

/** @param ledger As the try began. @returns the channel's end, if this is it. */
async function fail(
  deps: ActivityDeps,
  job: PublishJob,
  failure: PublishFailure,
  ledger: readonly Entry[],
): Promise<ChannelOutcome> {
  const unseen = await recordUnseen(deps, job, failure);
  if (unseen?.kind === 'published') {
    return { status: 'published', code: null, deliveryIds: [] };
  }

  if (unseen) {
    throw tryAgain(deps, 'processing', unseen.atMs);
  }

  const recorded = await recordFailure(deps, job, failure, ledger);
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
    nextRetryDelay:
      code === 'rate_limited' || code === 'paced' ? Math.min(waitMs, longestDelayMs) : waitMs,
    // Nothing is wrong with the worker, unless it says so.
    ...(code !== 'internal' && { category: ApplicationFailureCategory.BENIGN }),
  });
}
