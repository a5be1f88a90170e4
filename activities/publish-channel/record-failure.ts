import { sql } from 'kysely';
import {
  failedValues,
  isOpenChannel,
  retryingValues,
  unconfirmedValues,
  waitingValues,
} from '../../db/channel-status.ts';
import type { LedgerEntry } from '../../db/ledger/entries.ts';
import { SupersededError } from '../../db/ledger/intents.ts';
import { isOpen, isSent } from '../../domain/live-parts.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { recordPostEvent } from '../../db/record-event.ts';
import { refinalizeCancelled } from '../../db/refinalize-post.ts';
import {
  failureAdvice,
  inDoubtText,
  settleAdvice,
  type ChannelErrorCode,
  type NetworkLimit,
} from '../../domain/channel-error.ts';
import { fateOfChannel } from '../../domain/after-attempt.ts';
import { limitEndMs, type NextAttempt } from '../../domain/next-attempt.ts';
import type { ChannelStatus, PostStatus } from '../../domain/statuses.ts';
import { markAccessLost } from '../../services/channels/mark-access.ts';
import type { ActivityDeps } from '../deps.ts';
import { readJobEntries } from './attempt.ts';
import { decideNext, type PublishFailure } from './failures.ts';
import { isWhole, type PublishJob } from './job.ts';

type Recorded =
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
 * end. A channel that another attempt ended keeps its result. A post with a new time is sent then, whatever the outcome
 * here; its open parts are reconciled first.
 */
export async function recordFailure(
  deps: ActivityDeps,
  job: PublishJob,
  failure: PublishFailure,
): Promise<Recorded> {
  return deps.orm.em.fork().transactional(async (em): Promise<Recorded> => {
    const { status: post, entries } = await lockPostAndLedger(em, deps, job);
    const isInDoubt = entries.some(isOpen);
    const { failure: seen, next } = await decideNext(em, deps, job, { failure, entries });
    const report = {
      message: describePart(deps, job, { message: seen.message, entries }),
      isInDoubt,
      code: seen.code,
    };
    const isPartLive = entries.some(isSent);
    const fate = fateOfChannel({ post, isInDoubt, isPartLive, next });
    const deliveryIds = await recordForOthers(em, deps, job, seen, next);
    if (fate === 'scheduled' || fate === 'draft') {
      await query(
        em,
        sql`update post_channels pc set ${waitingValues(fate)} where ${openChannel(job)}`,
      );
      return { kind: 'final', status: fate, code: null, deliveryIds };
    }

    if (next.kind === 'retry' && fate === 'retry') {
      await recordRetry(em, job, { ...next, ...report });
      // Not again while the same problem lasts: a network that is away all day would make hundreds of events.
      if (post === 'publishing' && job.errorCode !== seen.code) {
        const { channelId: channel_id } = job;
        await recordPostEvent(em, job, 'post.retrying', deps, { channel_id });
      }

      return { kind: 'retry', atMs: next.atMs, code: seen.code };
    }

    const code = next.kind === 'retry' || fate === 'cancelled' ? 'cancelled' : next.code;
    const advice = isInDoubt
      ? settleAdvice(nameOfDoubted(deps, job, entries))
      : failureAdvice(code, null, isPartLive);
    const end = await recordEnd(em, job, { ...report, code, advice });
    await refinalizeCancelled(em, job, {
      publicUrl: deps.publicUrl,
      rules: deps.rules,
      now: deps.now(),
    });
    return { kind: 'final', status: end, code: codeOfEnd(end, code), deliveryIds };
  });
}

type Locked = {
  /** Undefined if the post does not exist. */
  readonly status: PostStatus | undefined;
  readonly entries: readonly LedgerEntry[];
};

/**
 * Locks the post and reads the ledger, to end or stop an attempt: another attempt may have continued while this one
 * hung. Locks the post before its channel, as all code does, so a cancel or an intent commits either before or after
 * this.
 *
 * @throws SupersededError if the post is being published in a newer run, or another attempt has sent all parts: the
 * result of this attempt no longer matters.
 */
async function lockPostAndLedger(em: Em, deps: ActivityDeps, job: PublishJob): Promise<Locked> {
  const { postId, postChannelId, workspaceId } = job;
  const [post] = await query(
    em,
    sql<{ status: PostStatus; run: number }>`
      select status, run from posts where id = ${postId} and workspace_id = ${workspaceId} for no key update`,
  );
  await query(
    em,
    sql`select from post_channels where id = ${postChannelId} and workspace_id = ${workspaceId} for no key update`,
  );
  const entries = await readJobEntries(deps, job, em);
  const isEarlier = post?.status === 'publishing' && post.run !== job.run;
  if (isEarlier || isWhole(job, entries)) {
    throw new SupersededError('Superseded by a newer attempt or run.');
  }

  return { status: post?.status, entries };
}

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
    await recordLimit(em, deps, job, { scope: limit, untilMs: endMs });
  }

  const starts = next.kind === 'retry' ? 'outbox' : 'workflow';
  return code === 'access_lost'
    ? markAccessLost(em, deps, job, `${message} Connect the channel again.`, starts)
    : [];
}

async function recordLimit(
  em: Em,
  { limits, now }: ActivityDeps,
  job: PublishJob,
  limit: NetworkLimit,
): Promise<void> {
  if (limit.scope !== 'channel') {
    limits.announced.add(job, limit, now().getTime());
    return;
  }

  await query(
    em,
    sql`update channels set parked_until = greatest(parked_until, ${new Date(limit.untilMs)})
      where id = ${job.channelId} and workspace_id = ${job.workspaceId}`,
  );
}

const codeOfEnd = (status: ChannelStatus, code: ChannelErrorCode | null): ChannelErrorCode | null =>
  status === 'unconfirmed' ? 'unconfirmed' : code;

/** A channel whose request may have arrived ends as unconfirmed, whatever the error was. */
async function recordEnd(
  em: Em,
  job: PublishJob,
  { message, code, isInDoubt, advice }: FailureReport & { readonly advice: string },
): Promise<ChannelStatus> {
  const error = `${isInDoubt ? unconfirmedText(message) : message} ${advice}`;
  const end = isInDoubt ? unconfirmedValues(error) : failedValues({ code, error });
  await query(
    em,
    sql`update post_channels pc set ${end}, url = null, tries = tries + 1
      where ${openChannel(job)}`,
  );
  return isInDoubt ? 'unconfirmed' : 'failed';
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
      where ${openChannel(job)}`,
  );
}

/** SQL: the channel, unless another attempt ended it. */
const openChannel = ({ workspaceId, postChannelId }: PublishJob) =>
  sql`pc.id = ${postChannelId} and pc.workspace_id = ${workspaceId} and ${isOpenChannel}`;

// Messages for the post's owner.

/** Adds to the message which part of a thread, or that the first comment, failed, and the URLs of the live parts. */
function describePart(
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

/** For a part whose outcome no further reconcile will determine. */
const unconfirmedText = (message: string): string =>
  `The network may or may not have this post: it was asked to publish, but the result could not be determined. (${message})`;

/** The part whose outcome is unknown, for the advice. */
function nameOfDoubted(
  { rules }: Pick<ActivityDeps, 'rules'>,
  { platform }: Pick<PublishJob, 'platform'>,
  entries: readonly LedgerEntry[],
): string {
  const part = entries.find(isOpen)?.part ?? 0;
  if (rules[platform]?.comments) {
    return part === 0 ? 'the post' : 'the first comment';
  }

  return entries.length > 1 ? `part ${part + 1}` : 'the post';
}
