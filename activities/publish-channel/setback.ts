import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { isDatabaseAway } from '../../db/is-away.ts';
import type { ChannelErrorCode, LimitScope } from '../../domain/channel-error.ts';
import { NetworkError } from '../../networks/network.ts';
import { describeError } from '../../runtime/describe-error.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishTarget } from './target.ts';

/** Why a try came to nothing, fit to be shown to the post's owner. */
export type Setback = {
  readonly code: ChannelErrorCode;
  /** What happened, as a sentence. */
  readonly message: string;
  /** When the network said that it takes requests again: milliseconds since 1970. */
  readonly retryAtMs?: number | undefined;
  /** Of `rate_limited`: whom it holds for. */
  readonly limit: LimitScope;
};

/** Another try of the channel was faster, or ended it. That one says what became of it. */
export class SupersededError extends Error {
  override readonly name = 'SupersededError';
}

/** The post was cancelled, and a look said that nothing of it is out: it is not sent any more. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';
}

/** PostgreSQL undid the transaction because of another one; the same again goes through. */
const isConflict = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === '40001' || error.code === '40P01');

/**
 * What a try that threw means for the channel. A fault of ours (another secret key, a bug) is told to the owner
 * without its inside, and to the operator in the log.
 *
 * @throws the error itself where nothing is to be written: Temporal tries again by its own policy.
 */
export function setbackOf(deps: ActivityDeps, target: PublishTarget, error: unknown): Setback {
  if (error instanceof NetworkError) {
    return error;
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

  const { postId, channelId } = target;
  const where = { workflow: activityInfo().workflowExecution?.workflowId, postId, channelId };
  deps.log.error(
    { ...where, error: describeError(error) },
    'a fault of our own keeps a channel from its post; it is tried again',
  );
  return { code: 'internal', message: internalMessage, limit: 'channel' };
}

const internalMessage =
  "Something is wrong inside this service, not with the post and not on the network. Whoever runs the service finds the reason in the worker's log, under this post's id.";
