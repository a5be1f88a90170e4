import { sql, type RawBuilder } from 'kysely';
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
import { failureAdvice, settleAdvice, type ChannelErrorCode } from '../../domain/channel-error.ts';
import { fateOfChannel, limitEndMs, type NextAttempt } from '../../domain/next-attempt.ts';
import type { ChannelStatus, PostStatus } from '../../domain/statuses.ts';
import { markAccessLost } from '../../services/channels/mark-access.ts';
import { reconnectAdvice } from '../channel-account.ts';
import type { ActivityDeps } from '../deps.ts';
import { readJobEntries } from './attempt.ts';
import { decideNext, type NextTry, type PublishFailure } from './failures.ts';
import { isWhole, type PublishJob } from './job.ts';
import { waitText } from './pacing.ts';

export type ChannelOutcome = {
  readonly status: ChannelStatus;
  /** Why the post was not published, for the Temporal UI; null if it was published or stopped. */
  readonly code: ChannelErrorCode | null;
  /** Deliveries to start, in histories before 0.1.0. */
  readonly deliveryIds?: readonly string[];
};

/**
 * Stores why an attempt failed, and the next step (docs/internals/publishing.md, When an attempt fails). A channel that
 * another attempt ended keeps its result. A channel whose request may have arrived ends as unconfirmed, whatever the
 * error was.
 */
export async function recordFailure(
  deps: ActivityDeps,
  job: PublishJob,
  failure: PublishFailure,
): Promise<ChannelOutcome | NextTry> {
  return deps.orm.em.fork().transactional(async (em): Promise<ChannelOutcome | NextTry> => {
    const { status: post, entries } = await lockPostAndLedger(em, deps, job);
    const isInDoubt = entries.some(isOpen);
    const isPartLive = entries.some(isSent);
    const { failure: seen, next } = await decideNext(em, deps, job, { failure, entries });
    const message = describePart(deps, job, { message: seen.message, entries });
    const fate = fateOfChannel({ post, isInDoubt, isPartLive, next });
    await recordForOthers(em, deps, job, seen, next);
    // Unless another attempt ended it.
    const store = (values: RawBuilder<unknown>): Promise<unknown> =>
      query(
        em,
        sql`update post_channels pc set ${values}
          where pc.id = ${job.postChannelId} and pc.workspace_id = ${job.workspaceId} and ${isOpenChannel}`,
      );
    if (fate === 'scheduled' || fate === 'draft') {
      await store(waitingValues(fate));
      return { status: fate, code: null };
    }

    if (next.kind === 'retry' && fate === 'retry') {
      const { atMs, counts } = next;
      const error = waitText(message, seen.code, atMs, isInDoubt);
      const values = retryingValues({ code: seen.code, error }, new Date(atMs));
      await store(sql`${values}, tries = tries + ${counts ? 1 : 0}::int`);
      // Not again while the same problem lasts: a network that is away all day would make hundreds of events.
      if (post === 'publishing' && job.errorCode !== seen.code) {
        const { channelId: channel_id } = job;
        await recordPostEvent(em, job, 'post.retrying', deps, { channel_id });
      }

      return { code: seen.code, atMs };
    }

    const code = next.kind === 'retry' || fate === 'cancelled' ? 'cancelled' : next.code;
    const end = isInDoubt
      ? unconfirmedValues(
          `The network may or may not have this post: it was asked to publish, but the result could not be determined. (${message}) ${settleAdvice(nameOfDoubted(deps, job, entries))}`,
        )
      : failedValues({ code, error: `${message} ${failureAdvice(code, null, isPartLive)}` });
    await store(sql`${end}, url = null, tries = tries + 1`);
    await refinalizeCancelled(em, job, deps);
    return isInDoubt ? { status: 'unconfirmed', code: 'unconfirmed' } : { status: 'failed', code };
  });
}

/**
 * Locks the post, before its channel as all code does, and reads the ledger: another attempt may have continued while
 * this one hung.
 *
 * @throws SupersededError if the post is being published in a newer run, or another attempt has sent all parts.
 */
async function lockPostAndLedger(em: Em, deps: ActivityDeps, job: PublishJob) {
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
  { code, message, retryAtMs, limit: scope }: PublishFailure,
  next: NextAttempt,
): Promise<void> {
  if (code === 'rate_limited' && (next.kind === 'retry' || retryAtMs !== undefined)) {
    const nowMs = deps.now().getTime();
    const untilMs = limitEndMs(retryAtMs, job.dueAt.getTime(), nowMs);
    if (scope === 'channel') {
      await query(
        em,
        sql`update channels set parked_until = greatest(parked_until, ${new Date(untilMs)})
          where id = ${job.channelId} and workspace_id = ${job.workspaceId}`,
      );
    } else {
      deps.limits.announced.add(job, { scope, untilMs }, nowMs);
    }
  }

  if (code === 'access_lost') {
    await markAccessLost(em, deps, job, reconnectAdvice(message));
  }
}

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
