import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { isConflict, isDatabaseUnavailable } from '../../db/database-errors.ts';
import { sentPartsOf, type LedgerEntry } from '../../db/ledger/entries.ts';
import { LimitedError, SupersededError } from '../../db/ledger/intents.ts';
import { isOpen } from '../../domain/live-parts.ts';
import type { Em } from '../../db/orm.ts';
import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import { nextAttempt, nextReconcile, type NextAttempt } from '../../domain/next-attempt.ts';
import { NetworkError } from '../../networks/network.ts';
import { describeError } from '../../runtime/logger.ts';
import { isReconnected, loseAccess, NewTokenError, reconnectAdvice } from '../channel-account.ts';
import type { ActivityDeps } from '../deps.ts';
import { readJobEntries } from './attempt.ts';
import { recordProcessing, recordSuccess } from './confirm.ts';
import { isPublishWindowOver, isWhole, publishWindowEndMs, type PublishJob } from './job.ts';
import { limitMessage } from './pacing.ts';

/** Why an attempt failed, in a form that the post's owner may see. */
export type PublishFailure = Pick<NetworkError, 'code' | 'message' | 'limit'> &
  Partial<Pick<NetworkError, 'retryAtMs' | 'hasProgressed' | 'lacksToken'>> & {
    /** The network refused an access token, and the channel has a newer one: the next attempt follows at once. */
    readonly hasNewAccess?: boolean;
  };

export const disconnectedFailure: PublishFailure = {
  code: 'disconnected',
  message: 'The account was disconnected before it had the post.',
  limit: 'channel',
};

export const cancelledFailure: PublishFailure = {
  code: 'cancelled',
  message: 'The post was cancelled.',
  limit: 'channel',
};

/**
 * Maps an attempt's error to a failure of the channel. Only the log has the details of an internal error.
 *
 * @throws the error itself if nothing is to be stored: Temporal retries by its own policy.
 */
export function classifyError(
  deps: ActivityDeps,
  job: Pick<PublishJob, 'postId' | 'channelId'>,
  error: unknown,
): PublishFailure {
  if (error instanceof NetworkError) {
    if (error.code === 'internal') {
      logFault(deps, job, error);
    }

    return error;
  }

  if (error instanceof NewTokenError) {
    const { message } = error;
    return { code: 'network_unavailable', message, limit: 'channel', hasNewAccess: true };
  }

  if (error instanceof LimitedError) {
    const { scope: limit, untilMs: retryAtMs } = error.limit;
    return { code: 'rate_limited', message: limitMessage(error.limit), retryAtMs, limit };
  }

  if (error instanceof Error && 'constraint' in error && error.constraint === oneClaim) {
    const message = 'The network answered with the id of another post.';
    return { code: 'network_unavailable', message, limit: 'channel' };
  }

  const isTemporals = error instanceof ApplicationFailure || error instanceof CancelledFailure;
  if (
    isTemporals ||
    error instanceof SupersededError ||
    isDatabaseUnavailable(error) ||
    isConflict(error)
  ) {
    throw error;
  }

  logFault(deps, job, error);
  return { code: 'internal', message: internalMessage, limit: 'channel' };
}

const oneClaim = 'post_parts_one_claim_per_post';

function logFault(
  { log }: ActivityDeps,
  { postId, channelId }: Pick<PublishJob, 'postId' | 'channelId'>,
  error: unknown,
): void {
  const workflow = activityInfo().workflowExecution?.workflowId;
  const where = { workflow, post: postId, channel: channelId };
  log.error(
    { ...where, error: describeError(error) },
    'internal error while publishing or removing a post, the attempt is retried',
  );
}

const internalMessage =
  "Something is wrong inside this service, not with the post or the network. The operator finds the reason in the worker's log, under this post's id.";

type Failed = {
  readonly failure: PublishFailure;
  readonly entries: readonly LedgerEntry[];
};

/** In milliseconds. Greater than 0, so that alternating reconnects and refusals do not make a busy loop. */
export const newAccessWaitMs = 1000;

/** Returns the next step, and the failure to report. An attempt with access that the channel no longer uses does not count. */
export async function decideNext(
  em: Em,
  deps: ActivityDeps,
  job: PublishJob,
  { failure, entries }: Failed,
): Promise<{ readonly failure: PublishFailure; readonly next: NextAttempt }> {
  const isOld =
    (failure.code === 'disconnected' || failure.code === 'access_lost') &&
    (await isReconnected(em, job));
  if (!isOld && !failure.hasNewAccess) {
    return { failure, next: nextStep(deps, job, { failure, entries }) };
  }

  const message = isOld
    ? 'The account was connected again while its old access was in use.'
    : failure.message;
  return {
    failure: { code: 'network_unavailable', message, limit: 'channel' },
    next: { kind: 'retry', atMs: deps.now().getTime() + newAccessWaitMs, counts: false },
  };
}

function nextStep(
  deps: ActivityDeps,
  { attempts, dueAt, ledger: known }: PublishJob,
  { failure, entries }: Failed,
): NextAttempt {
  const { code, retryAtMs, hasProgressed, lacksToken } = failure;
  const [dueAtMs, nowMs] = [dueAt.getTime(), deps.now().getTime()];
  const open = entries.filter(isOpen);
  // Without credentials no reconcile is possible.
  if (open.length === 0 || code === 'disconnected') {
    return nextAttempt({ code, retryAtMs, hasProgressed, lacksToken }, attempts, dueAtMs, nowMs);
  }

  const wasOpen = (entry: LedgerEntry): boolean =>
    known.some(
      ({ id, sendingAt }) => id === entry.id && sendingAt?.getTime() === entry.sendingAt?.getTime(),
    );
  const openForMs = Math.min(...open.map(({ sendingForMs }) => sendingForMs ?? Infinity));
  const isSend = !open.every(wasOpen);
  return nextReconcile({ code, retryAtMs, openForMs, isSend }, dueAtMs, nowMs);
}

/** Bounds of the poll interval while status requests fail, in milliseconds. */
const [shortestPollMs, longestPollMs] = [30_000, 15 * 60_000];

/** The channel goes on at this time, in milliseconds since 1970. */
export type NextTry = { readonly code: ChannelErrorCode; readonly atMs: number };

/**
 * Handles an attempt that failed while polling, after the network took all parts. Polling continues until the publish
 * window ends; then the post counts as published, with a warning.
 *
 * @returns null if the network does not have all parts, or shows posts at once.
 */
export async function recordProcessingFailure(
  deps: ActivityDeps,
  job: PublishJob,
  { code, message, retryAtMs = 0 }: PublishFailure,
): Promise<'published' | NextTry | null> {
  if (!deps.networks[job.platform]?.readiness) {
    return null;
  }

  const entries = await readJobEntries(deps, job);
  if (!isWhole(job, entries)) {
    return null;
  }

  if (code === 'access_lost') {
    await deps.orm.em.fork().transactional((em) => loseAccess(em, deps, job, message));
  }

  const why = code === 'access_lost' ? reconnectAdvice(message) : message;
  const [first] = sentPartsOf(entries);
  const where = first ? ` (${first.url})` : '';
  if (isPublishWindowOver(deps, job)) {
    const warning = `The network has accepted this post${where}, but this service could not confirm that it is visible. Check the post on the network. ${why}`;
    const last = entries.map((entry) =>
      Object.assign({}, entry, {
        sent: entry.sent && entry.part === 0 ? { ...entry.sent, warning } : entry.sent,
      }),
    );
    await recordSuccess(deps, job, { sent: sentPartsOf(last), last });
    return 'published';
  }

  const nowMs = deps.now().getTime();
  const lateMs = nowMs - job.dueAt.getTime();
  const waitMs = Math.min(Math.max(lateMs / 2, shortestPollMs), longestPollMs);
  const atMs = Math.min(Math.max(nowMs + waitMs, retryAtMs), publishWindowEndMs(job) + 1000);
  const text = `The network has the post${where}, but it is not known yet whether it is visible: ${why}`;
  await recordProcessing(deps, job, text, atMs);
  return { code: 'processing', atMs };
}
