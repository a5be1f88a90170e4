import { sql } from 'kysely';
import { markAccessLost } from '../../accounts/mark-access.ts';
import {
  failedValues,
  isOpenChannel,
  isUnderWay,
  retryingValues,
  unconfirmedValues,
  waitingValues,
} from '../../db/channel-status.ts';
import { refinalizeCancelled } from '../../db/refinalize-post.ts';
import type { LedgerEntry } from '../../db/ledger/entries.ts';
import { SupersededError } from '../../db/ledger/intents.ts';
import { isOpen, mayBeLive } from '../../db/ledger/part-states.ts';
import { recordLimit } from '../../db/network-limits.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { canRetryLater, type ChannelErrorCode, failureAdvice } from '../../domain/channel-error.ts';
import {
  type NextAttempt,
  limitEndMs,
  nextReconcile,
  nextAttempt,
} from '../../domain/next-attempt.ts';
import type { ChannelStatus, PostStatus } from '../../domain/post-status.ts';
import { isReconnected } from '../account/channel-account.ts';
import type { ActivityDeps } from '../deps.ts';
import {
  describePart,
  inDoubtText,
  unconfirmedText,
  type PublishFailure,
} from './classify-error.ts';
import type { PublishJob } from './job.ts';
import { lockPostAndLedger, type Locked } from './lock-ledger.ts';
import { retryWithNewAccess } from './reconnected.ts';

export type Recorded =
  | { readonly kind: 'retry'; readonly atMs: number; readonly code: ChannelErrorCode }
  | {
      readonly kind: 'final';
      readonly status: ChannelStatus;
      /** Why the post was not published; null if it was stopped. */
      readonly code: ChannelErrorCode | null;
      readonly deliveryIds: readonly string[];
    };

type FailureReport = {
  /** Shown to the user. */
  readonly message: string;
  readonly code: ChannelErrorCode;
  /** A request may have arrived, so the outcome is unknown. */
  readonly isInDoubt: boolean;
};

/**
 * Stores why an attempt failed, and the next step: another attempt, another reconcile of an open part, or the channel's
 * end. A channel that another attempt ended keeps its result. A cancelled post continues only while a part is or may be
 * live. A post with a new time is sent then, whatever the outcome here; its open parts are reconciled first.
 *
 * @param known The ledger when the attempt began.
 */
export async function recordFailure(
  deps: ActivityDeps,
  job: PublishJob,
  failure: PublishFailure,
  known: readonly LedgerEntry[],
): Promise<Recorded> {
  return deps.orm.em.fork().transactional(async (em): Promise<Recorded> => {
    const locked = await lockPostAndLedger(em, deps, job);
    const { status, entries, isDisconnected } = locked;
    const isInDoubt = entries.some(isOpen);
    const { failure: seen, next } = await decideNext(em, deps, job, { failure, known, locked });
    const report = {
      message: describePart(deps, job, { message: seen.message, entries }),
      isInDoubt,
      code: seen.code,
    };
    const goesOn = status === 'publishing' || (status === 'draft' && entries.some(mayBeLive));
    if ((next.kind === 'retry' || (isDisconnected && status === 'draft')) && !goesOn) {
      const stopped = await stop(em, job, status);
      return { kind: 'final', status: stopped, code: null, deliveryIds: [] };
    }

    const deliveryIds = await recordForOthers(em, deps, job, seen, next);
    if (status === 'scheduled' && !isDisconnected) {
      const stopped = await stop(em, job, status);
      return { kind: 'final', status: stopped, code: null, deliveryIds };
    }

    if (next.kind === 'retry') {
      await recordRetry(em, job, { ...next, ...report });
      return { kind: 'retry', atMs: next.atMs, code: seen.code };
    }

    const end = await recordEnd(em, job, { ...report, code: next.code }, isDisconnected);
    await refinalizeCancelled(em, job, {
      publicUrl: deps.publicUrl,
      rules: deps.rules,
      now: deps.now(),
    });
    return { kind: 'final', status: end, code: codeOfEnd(end, next.code), deliveryIds };
  });
}

const reconnectedText = 'The account was connected again while its old access was in use.';

type Decision = { readonly failure: PublishFailure; readonly next: NextAttempt };

/** Returns the next step after a failure, and the failure to report. */
async function decideNext(
  em: Em,
  deps: ActivityDeps,
  job: PublishJob,
  {
    failure,
    known,
    locked: { entries, isDisconnected },
  }: {
    readonly failure: PublishFailure;
    readonly known: readonly LedgerEntry[];
    readonly locked: Locked;
  },
): Promise<Decision> {
  if (isDisconnected) {
    return afterDisconnect(failure);
  }

  const isOld =
    failure.code === 'disconnected' ||
    (failure.code === 'access_lost' && (await isReconnected(em, job)));
  const renewed = isOld ? reconnectedText : failure.hasNewAccess ? failure.message : null;
  return renewed === null
    ? { failure: failure, next: nextStep(deps, job, failure, { known, entries }) }
    : retryWithNewAccess(deps, renewed);
}

/** The account was disconnected during the attempt: no further attempt follows. */
function afterDisconnect(failure: PublishFailure): Decision {
  const isLast = !canRetryLater[failure.code];
  const reported = isLast
    ? failure
    : { ...failure, message: `${failure.message} The account was disconnected meanwhile.` };
  return {
    failure: reported,
    next: { kind: 'give_up', code: isLast ? failure.code : 'disconnected' },
  };
}

type Ledgers = { readonly known: readonly LedgerEntry[]; readonly entries: readonly LedgerEntry[] };

function nextStep(
  deps: ActivityDeps,
  { attempts, dueAt }: PublishJob,
  { code, retryAtMs, hasProgressed, lacksToken }: PublishFailure,
  { known, entries }: Ledgers,
): NextAttempt {
  const [dueAtMs, nowMs] = [dueAt.getTime(), deps.now().getTime()];
  const open = entries.filter(isOpen);
  if (open.length === 0) {
    return nextAttempt({ code, retryAtMs, hasProgressed, lacksToken }, attempts, dueAtMs, nowMs);
  }

  const wasOpen = (entry: LedgerEntry): boolean =>
    known.some(
      ({ id, sendingAt }) => id === entry.id && sendingAt?.getTime() === entry.sendingAt?.getTime(),
    );
  const openForMs = Math.min(...open.map(({ sendingForMs }) => sendingForMs ?? Infinity));
  return nextReconcile(
    { code, retryAtMs, openForMs, isSend: !open.every(wasOpen) },
    dueAtMs,
    nowMs,
  );
}

/**
 * Stores that a cancelled post has no live part.
 *
 * @returns the channel's status.
 * @throws SupersededError if a part was sent since: the next attempt finishes it.
 */
export const recordStopped = (deps: ActivityDeps, job: PublishJob): Promise<ChannelStatus> =>
  deps.orm.em.fork().transactional(async (em) => {
    const { status, entries } = await lockPostAndLedger(em, deps, job);
    if (status === 'publishing' || entries.some(isOpen)) {
      throw new SupersededError('Superseded by a newer attempt or run.');
    }

    return stop(em, job, status);
  });

/** Stores the effects on other posts: a rate limit for its whole scope, and lost access with its event. */
async function recordForOthers(
  em: Em,
  deps: ActivityDeps,
  job: PublishJob,
  { code, message, retryAtMs, limit }: PublishFailure,
  next: NextAttempt,
): Promise<readonly string[]> {
  if (code === 'rate_limited' && (next.kind === 'retry' || retryAtMs !== undefined)) {
    const endMs = limitEndMs(retryAtMs, job.dueAt.getTime(), deps.now().getTime());
    await recordLimit(em, job, limit, new Date(endMs));
  }

  const starts = next.kind === 'retry' ? 'outbox' : 'workflow';
  return code === 'access_lost'
    ? markAccessLost(em, deps, job, `${message} Connect the channel again.`, starts)
    : [];
}

const codeOfEnd = (status: ChannelStatus, code: ChannelErrorCode | null): ChannelErrorCode | null =>
  status === 'unconfirmed' ? 'unconfirmed' : code;

/** A channel whose request may have arrived ends as unconfirmed, whatever the error was. */
async function recordEnd(
  em: Em,
  job: PublishJob,
  { message, code, isInDoubt }: FailureReport,
  isDisconnected: boolean,
): Promise<ChannelStatus> {
  const error = isInDoubt ? unconfirmedText(message) : `${message} ${failureAdvice(code, null)}`;
  const end = isInDoubt ? unconfirmedValues(error) : failedValues({ code, error });
  await query(
    em,
    sql`update post_channels pc set ${end}, url = null, tries = tries + 1
      where ${isDisconnected ? openChannel(job) : channelUnderWay(job)}`,
  );
  return isInDoubt ? 'unconfirmed' : 'failed';
}

/**
 * Stops the channel of a cancelled post. If the post was scheduled again, open parts are reconciled at the new time.
 */
async function stop(em: Em, job: PublishJob, post: PostStatus | undefined): Promise<ChannelStatus> {
  const status = post === 'scheduled' ? 'scheduled' : 'draft';
  await query(
    em,
    sql`update post_channels pc set ${waitingValues(status)} where ${channelUnderWay(job)}`,
  );
  return status;
}

async function recordRetry(
  em: Em,
  job: PublishJob,
  {
    counts,
    code,
    atMs,
    message,
    isInDoubt,
  }: FailureReport & { readonly atMs: number; readonly counts: boolean },
): Promise<void> {
  const error = isInDoubt
    ? inDoubtText(message, code, atMs)
    : `${message} ${failureAdvice(code, atMs)}`;
  await query(
    em,
    sql`update post_channels pc set ${retryingValues({ code, error }, new Date(atMs))}, tries = tries + ${counts ? 1 : 0}::int
      where ${channelUnderWay(job)}`,
  );
}

/** SQL: the channel, unless another attempt ended it. */
const channelUnderWay = ({ workspaceId, postChannelId }: PublishJob) =>
  sql`pc.id = ${postChannelId} and pc.workspace_id = ${workspaceId} and ${isUnderWay}`;

/** SQL: the channel, also if it waits: no attempt begins on a disconnected channel. */
const openChannel = ({ workspaceId, postChannelId }: PublishJob) =>
  sql`pc.id = ${postChannelId} and pc.workspace_id = ${workspaceId} and ${isOpenChannel}`;
