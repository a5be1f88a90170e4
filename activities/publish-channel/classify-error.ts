import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { isOpen } from '../../db/ledger/part-states.ts';
import { isDatabaseAway } from '../../db/is-away.ts';
import { isConflict } from '../../db/is-conflict.ts';
import type { Entry } from '../../db/ledger/entries.ts';
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

/** Why a try came to nothing, fit to be shown to the post's owner. */
export type PublishFailure = {
  readonly code: ChannelErrorCode;
  /** What happened, as a sentence. */
  readonly message: string;
  /** When the network said that it takes requests again: milliseconds since 1970. */
  readonly retryAtMs?: number | undefined;
  /** More of its files is on the network than before. */
  readonly hasProgressed?: boolean;
  /** Nothing could be asked of the network, for want of an access token. */
  readonly lacksToken?: boolean;
  /** Of `rate_limited`: whom it holds for. */
  readonly limit: LimitScope;
  /** The network refused an access token, and the channel has a newer one: the next try is made at once. */
  readonly hasNewAccess?: boolean;
};

/** The post was cancelled, and a look said that nothing of it is out: it is not sent any more. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';
}

/**
 * What a try that threw means for the channel. A fault of ours (another secret key, a bug) is told to the owner
 * without its inside, and to the operator in the log.
 *
 * @throws the error itself where nothing is to be written: Temporal tries again by its own policy.
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
    isDatabaseAway(error) ||
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
    'a fault of our own keeps a channel from its post; it is tried again',
  );
}

const internalMessage =
  "Something is wrong inside this service, not with the post and not on the network. Whoever runs the service finds the reason in the worker's log, under this post's id.";

// What a post's owner reads of a try that failed.

/** Says which part of a thread it was, or that it was the first comment, and where what stands before it is. */
export function describePart(
  { rules }: Pick<ActivityDeps, 'rules'>,
  { platform }: Pick<PublishJob, 'platform'>,
  { message, entries }: { readonly message: string; readonly entries: readonly Entry[] },
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

/** Nobody knows yet whether the network has it. @param atMs When it is asked again. */
export const inDoubtText = (message: string, code: ChannelErrorCode, atMs: number): string =>
  `The network was asked to publish, and whether it has the post is not known yet. (${message}) ${code === 'access_lost' ? 'Connect the channel again. ' : ''}${adviceInDoubt(atMs)}`;

/** Nobody will find out any more but a person. */
export const unconfirmedText = (message: string): string =>
  `The network may or may not have this post: it was asked to publish, and what became of that could not be found out. (${message}) ${finalAdvice.unconfirmed}`;
