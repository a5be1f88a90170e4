import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { isOpen } from '../../db/ledger/part-states.ts';
import { isDatabaseUnavailable } from '../../db/is-unavailable.ts';
import { isConflict } from '../../db/is-conflict.ts';
import type { LedgerEntry } from '../../db/ledger/entries.ts';
import { LimitedError, SupersededError } from '../../db/ledger/intents.ts';
import {
  type ChannelErrorCode,
  type LimitScope,
  adviceInDoubt,
  finalAdvice,
} from '../../domain/channel-error.ts';
import { NetworkError } from '../../networks/network.ts';
import { describeError } from '../../runtime/logger.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishJob } from './job.ts';
import { limitMessage } from './pacing.ts';
import { NewTokenError } from '../account/refused-token.ts';

/** Why an attempt failed, in a form that the post's owner may see. */
export type PublishFailure = {
  readonly code: ChannelErrorCode;
  /** One or more sentences. */
  readonly message: string;
  /** When the network accepts requests again, in milliseconds since 1970. */
  readonly retryAtMs?: number | undefined;
  /** The attempt uploaded more of the files than earlier ones had. */
  readonly hasProgressed?: boolean;
  /** No request was sent, because no access token could be obtained. */
  readonly lacksToken?: boolean;
  /** For `rate_limited`: the scope of the limit. */
  readonly limit: LimitScope;
  /** The network refused an access token, and the channel has a newer one: the next attempt follows at once. */
  readonly hasNewAccess?: boolean;
};

/** The post was cancelled, and the reconcile found no live part: sending stops. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';
}

/**
 * Maps an attempt's error to a failure of the channel. The owner sees no details of an internal error (a wrong secret
 * key, a bug); the log has them.
 *
 * @throws the error itself if nothing is to be stored: Temporal retries by its own policy.
 */
export function classifyError(deps: ActivityDeps, job: PublishJob, error: unknown): PublishFailure {
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

function logFault({ log }: ActivityDeps, { postId, channelId }: PublishJob, error: unknown): void {
  const where = { workflow: activityInfo().workflowExecution?.workflowId, postId, channelId };
  log.error(
    { ...where, error: describeError(error) },
    'internal error while publishing, the attempt is retried',
  );
}

const internalMessage =
  "Something is wrong inside this service, not with the post or the network. The operator finds the reason in the worker's log, under this post's id.";

// Messages for the post's owner.

/** Adds to the message which part of a thread, or that the first comment, failed, and the URLs of the live parts. */
export function describePart(
  { rules }: Pick<ActivityDeps, 'rules'>,
  { platform }: Pick<PublishJob, 'platform'>,
  { message, entries }: { readonly message: string; readonly entries: readonly LedgerEntry[] },
): string {
  const live = entries.flatMap(({ sent }) => (sent === null ? [] : [sent.url]));
  if (live.length === 0) {
    return message;
  }

  const what = entries.some(isOpen) ? 'is in doubt' : 'did not go out';
  if (rules[platform]?.comments) {
    return `The first comment ${what}: ${message} (The post: ${live.join(' ')})`;
  }

  return `Part ${live.length + 1} of ${entries.length} ${what}: ${message} (The part${live.length > 1 ? 's' : ''} before it: ${live.join(' ')})`;
}

/** @param atMs Time of the next reconcile, in milliseconds since 1970. */
export const inDoubtText = (message: string, code: ChannelErrorCode, atMs: number): string =>
  `The network was asked to publish, but it is not known yet whether it has the post. (${message}) ${code === 'access_lost' ? 'Connect the channel again. ' : ''}${adviceInDoubt(atMs)}`;

/** For a part whose outcome no further reconcile will determine. */
export const unconfirmedText = (message: string): string =>
  `The network may or may not have this post: it was asked to publish, but the result could not be determined. (${message}) ${finalAdvice.unconfirmed}`;
