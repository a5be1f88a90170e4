import { activityInfo, heartbeat } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { sql } from 'kysely';
import { isComplete } from '../../db/ledger/entries.ts';
import { query } from '../../db/query.ts';
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
import { checkPacing, recordWait, type PacingWait } from './pacing.ts';
import { recordFailure, type ChannelOutcome } from './record-failure.ts';
import { sendThread } from './send-thread.ts';

/** In milliseconds, for all requests of one attempt. Below the activity's startToCloseTimeout. */
export const attemptTimeoutMs = 4 * 60_000;

/** Shortest delay until the next attempt, in milliseconds. */
const shortestDelayMs = 100;

/**
 * Longest delay, in milliseconds, after `rate_limited` or `paced`. The limit may last a day, but an operator may remove
 * it, and nothing else wakes the activity.
 */
const longestDelayMs = 15 * 60_000;

/**
 * Makes one attempt to publish a post on one channel. Safe to repeat at any point: it starts from the ledger, and a
 * part that may have been sent is reconciled before it is sent again.
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
    // An earlier attempt ended it, and Temporal did not receive the result.
    const deliveryIds = await waitingReconnectDeliveries(deps, job);
    return { status: job.status, code: job.errorCode, deliveryIds };
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
const skipped: ChannelOutcome = { status: 'draft', code: null, deliveryIds: [] };

const published: ChannelOutcome = { status: 'published', code: null, deliveryIds: [] };

async function attemptAt(
  slot: ServerSlot,
  deps: ActivityDeps,
  job: PublishJob,
  begun: Begun,
): Promise<ChannelOutcome> {
  const wait = await waitFor(deps, job, slot);
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

/**
 * Returns the reason to wait, or null. No wait applies once the network has all parts, after the publish window, when
 * only open parts are reconciled, or if there is nothing to ask the network.
 */
async function waitFor(
  deps: ActivityDeps,
  job: PublishJob,
  { busy }: ServerSlot,
): Promise<PacingWait | null> {
  if (job.isAccepted || isPublishWindowOver(deps, job) || (job.isCancelled && !job.isInDoubt)) {
    return null;
  }

  const wait = await checkPacing(deps, job, busy);
  return wait && job.isInDoubt
    ? { ...wait, atMs: Math.min(wait.atMs, publishWindowEndMs(job)) }
    : wait;
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
    grant: current?.grant ?? null,
    signal: AbortSignal.timeout(attemptTimeoutMs),
    uploadsOf: uploads.uploadsOf,
    saveUploads: uploads.saveUploads,
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

/** @throws ApplicationFailure if the channel goes on. */
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

/**
 * The failure of an attempt that another one follows.
 *
 * @param detail What `restore finish` reads of an attempt that only waited (temporal/latest-run.ts).
 */
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

/**
 * Deliveries of this channel without an attempt yet. An execution whose result was lost returns them again, so that
 * their workflows start.
 */
async function waitingReconnectDeliveries(
  deps: ActivityDeps,
  { workspaceId, channelId }: PublishJob,
): Promise<string[]> {
  const rows = await query(
    deps.orm.em.fork(),
    sql<{ id: string }>`
      select d.id from deliveries d join events e on e.id = d.event_id and e.workspace_id = d.workspace_id
      where e.channel_id = ${channelId} and d.workspace_id = ${workspaceId} and d.status = 'pending'
        and not exists (select 1 from delivery_attempts a where a.delivery_id = d.id)`,
  );
  return rows.map(({ id }) => id);
}
