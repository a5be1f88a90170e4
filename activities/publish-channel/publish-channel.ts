import { activityInfo, heartbeat } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { isComplete } from '../../db/ledger/entries.ts';
import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import { isFinal } from '../../domain/statuses.ts';
import { markAccessRestored } from '../../services/channels/mark-access.ts';
import { NetworkError } from '../../networks/network.ts';
import { classifyTokenRefusal, openConnection, openedGrant } from '../channel-account.ts';
import type { ActivityDeps } from '../deps.ts';
import { heartbeating } from '../heartbeating.ts';
import type { ServerSlot } from '../limits.ts';
import { createIntent, createSpending, keepUploads, readBegun, type Begun } from './attempt.ts';
import { checkReadiness, ProcessingError, recordCompleteThread, recordSuccess } from './confirm.ts';
import {
  cancelledFailure,
  classifyError,
  disconnectedFailure,
  recordProcessingFailure,
  type PublishFailure,
} from './failures.ts';
import {
  loadJob,
  isPublishWindowOver,
  publishWindowEndMs,
  type PublishJob,
  type PublishRequest,
} from './job.ts';
import { checkPacing, recordWait } from './pacing.ts';
import { recordFailure, type ChannelOutcome } from './record-failure.ts';
import { sendThread } from './send-thread.ts';

/** In milliseconds, for all requests of one attempt. Below the activity's startToCloseTimeout. */
export const attemptTimeoutMs = 4 * 60_000;

/**
 * Bounds of the delay until the next attempt, in milliseconds; the second only after `rate_limited` or `paced`: an
 * operator may remove a limit of a day, and nothing else wakes the activity.
 */
const [shortestDelayMs, longestDelayMs] = [100, 15 * 60_000];

/**
 * Makes one attempt to publish a post on one channel. Safe to repeat at any point, since it starts from the ledger.
 *
 * @throws ApplicationFailure typed with the channel's error code, with the delay until the next attempt.
 */
export async function publishChannel(
  deps: ActivityDeps,
  request: PublishRequest,
): Promise<ChannelOutcome> {
  const job = await loadJob(deps, request);
  if (!job) {
    return skipped;
  }

  if (isFinal(job.status)) {
    return { status: job.status, code: job.errorCode }; // Temporal did not receive the result of an earlier attempt.
  }

  const begun = await readBegun(deps, job);
  if (job.status === 'draft' || (!job.isPublishing && !job.isCancelled)) {
    return skipped;
  }

  if (job.isDisconnected) {
    return endDisconnected(deps, job);
  }

  const slot = deps.limits.servers.enter(job, deps.now().getTime());
  try {
    return await attemptAt(slot, deps, job, begun);
  } finally {
    slot.leave();
  }
}

/** Nothing is to be sent: the post was cancelled or has another time. */
const skipped: ChannelOutcome = { status: 'draft', code: null };

const published: ChannelOutcome = { status: 'published', code: null };

async function attemptAt(
  slot: ServerSlot,
  deps: ActivityDeps,
  job: PublishJob,
  begun: Begun,
): Promise<ChannelOutcome> {
  const wait = await checkPacing(deps, job, slot.busy);
  if (wait && wait.atMs <= publishWindowEndMs(job)) {
    if (await recordWait(deps, job, wait)) {
      throw retryFailure(deps, wait.code, wait.atMs, { hasSent: job.hasBegun });
    }

    return skipped;
  }

  const isPending = job.isInDoubt || isComplete(job.ledger);
  if (job.isCancelled && !isPending) {
    return fail(deps, job, cancelledFailure);
  }

  if (wait || (isPublishWindowOver(deps, job) && !isPending)) {
    const message = wait?.message ?? 'No attempt could start within 24 hours.';
    return fail(deps, job, { code: 'too_late', message, limit: 'channel' });
  }

  try {
    await heartbeating(() => publish(deps, job, begun), begun);
    slot.saw('answered', deps.now().getTime());
  } catch (error) {
    slot.saw(error instanceof NetworkError ? error.server : undefined, deps.now().getTime());
    if (begun.entry !== undefined) {
      heartbeat(begun); // For the next attempt.
    }

    if (error instanceof ProcessingError) {
      throw retryFailure(deps, 'processing', error.atMs);
    }

    return fail(deps, job, classifyError(deps, job, error));
  }

  if (job.isLost) {
    await deps.orm.em
      .fork()
      .transactional((em) => markAccessRestored(em, deps, job, job.sealedCredentials));
  }

  logPublished(deps, job);
  return published;
}

function logPublished({ log, now }: ActivityDeps, job: PublishJob): void {
  const { workspaceId, postId, channelId, platform, dueAt } = job;
  const { attempt } = activityInfo();
  const lateMs = now().getTime() - dueAt.getTime();
  const line = { workspace: workspaceId, post: postId, channel: channelId, network: platform };
  log.info({ ...line, attempt, lateMs }, 'published');
}

async function endDisconnected(deps: ActivityDeps, job: PublishJob): Promise<ChannelOutcome> {
  const isOver = job.isCancelled && !job.isInDoubt;
  return (await recordCompleteThread(deps, job))
    ? published
    : fail(deps, job, isOver ? cancelledFailure : disconnectedFailure);
}

async function publish(deps: ActivityDeps, job: PublishJob, begun: Begun): Promise<void> {
  const network = deps.networks[job.platform];
  if (!network) {
    throw new Error(`This worker has no adapter for the network "${job.platform}".`);
  }

  const intent = createIntent(deps);
  const uploads = keepUploads(deps, job);
  const current = await openedGrant(deps, job);
  const connection = openConnection(deps, job, {
    ...uploads.kept,
    grant: current?.grant ?? null,
    signal: AbortSignal.timeout(attemptTimeoutMs),
    mayCreate: intent.isFresh,
  });
  const spending = createSpending(deps, job, connection);
  const seen = new Map<string, string | undefined>();
  const attempt = { deps, job, network, connection, begun, intent, uploads, spending, seen };
  try {
    const live = await sendThread(attempt);
    await recordSuccess(deps, job, await checkReadiness(attempt, live));
  } catch (error) {
    // Ignore a database error: the day's count then stays too high, and the original error matters more.
    await spending.giveBack().catch(() => undefined);
    throw await classifyTokenRefusal(deps, job, current, error);
  }
}

async function fail(
  deps: ActivityDeps,
  job: PublishJob,
  failure: PublishFailure,
): Promise<ChannelOutcome> {
  const end =
    (await recordProcessingFailure(deps, job, failure)) ??
    (await recordFailure(deps, job, failure));
  if (end === 'published') {
    return published;
  }

  if ('atMs' in end) {
    throw retryFailure(deps, end.code, end.atMs);
  }

  return end;
}

/** @param detail What `restore finish` reads of an attempt that only waited (temporal/latest-run.ts). */
export function retryFailure(
  deps: ActivityDeps,
  code: ChannelErrorCode,
  atMs: number,
  detail?: { readonly hasSent: boolean },
): ApplicationFailure {
  const waitMs = Math.max(atMs - deps.now().getTime(), shortestDelayMs);
  return ApplicationFailure.create({
    type: code,
    message: `${code}; the next attempt is at ${new Date(atMs).toISOString()}`,
    ...(detail && { details: [detail] }),
    nextRetryDelay:
      code === 'rate_limited' || code === 'paced' ? Math.min(waitMs, longestDelayMs) : waitMs,
    // BENIGN: an expected failure, which must not count against the worker.
    ...(code !== 'internal' && { category: ApplicationFailureCategory.BENIGN }),
  });
}
