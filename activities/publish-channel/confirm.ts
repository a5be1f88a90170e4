import { sql, type RawBuilder } from 'kysely';
import { isOpenChannel, publishedValues, retryingValues } from '../../db/channel-status.ts';
import { sentPartsOf, type LedgerEntry } from '../../db/ledger/entries.ts';
import { markRejected, markSent } from '../../db/ledger/outcomes.ts';
import { sentText } from '../../db/ledger/parts.ts';
import { query } from '../../db/query.ts';
import { sumMetrics } from '../../db/sum-metrics.ts';
import { refinalizeCancelled, refinalizePost } from '../../db/refinalize-post.ts';
import { failureAdvice } from '../../domain/channel-error.ts';
import type { ChannelStatus, PostStatus } from '../../domain/statuses.ts';
import { postAddress } from '../../domain/texts.ts';
import { NetworkError, type Readiness, type SentPart } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import { readJobEntries, type PublishAttempt } from './attempt.ts';
import { isPublishWindowOver, isWhole, publishWindowEndMs, type PublishJob } from './job.ts';

export type Live = {
  readonly sent: readonly SentPart[];
  /** Entries of those that the ledger does not mark as sent yet. */
  readonly last: readonly LedgerEntry[];
};

/** Poll interval if the network did not answer, and the shortest one, in milliseconds. */
const [usualWaitMs, shortestWaitMs] = [30_000, 2000];

/** The network has the post but does not show it yet. Thrown after the channel's row is updated. */
export class ProcessingError extends Error {
  override readonly name = 'ProcessingError';
  readonly atMs: number;

  constructor(message: string, atMs: number) {
    super(message);
    this.atMs = atMs;
  }
}

/**
 * Polls the network, once per part, for whether it shows the part. One poll per attempt: processing a video may take an
 * hour, and a waiting attempt would hold a slot of the server and of this worker. The ledger marks the parts as sent
 * before the poll.
 *
 * @returns the published parts, with warnings of the network.
 * @throws ProcessingError if the network has to be polled again.
 * @throws NetworkError if the network rejected a part, or `access_lost`, which says nothing about the post.
 */
export async function checkReadiness(attempt: PublishAttempt, live: Live): Promise<Live> {
  const { deps, job, network } = attempt;
  if (!network.readiness) {
    return live;
  }

  await query(deps.orm.em.fork(), markSent(job.workspaceId, live.last, deps.now()));
  const entries = await readJobEntries(deps, job);
  const last: LedgerEntry[] = [];
  for (const entry of entries) {
    if (entry.sent) {
      const warning = await checkProcessing(attempt, entry, entry.sent);
      last.push({ ...entry, sent: warned(entry.sent, warning) });
    }
  }

  return { sent: last.flatMap(({ sent }) => sent ?? []), last };
}

async function checkProcessing(
  attempt: PublishAttempt,
  entry: LedgerEntry,
  sent: SentPart,
): Promise<string | undefined> {
  const { deps, job, seen } = attempt;
  if (seen.has(entry.id)) {
    return seen.get(entry.id);
  }

  const found = await pollReadiness(attempt, entry, sent);
  if (found.kind === 'ready') {
    seen.set(entry.id, found.warning);
    return found.warning;
  }

  if (isPublishWindowOver(deps, job)) {
    return 'The network has had this post for a day and has not finished processing it. Check the post on the network.';
  }

  const waitMs = Math.max(found.checkAfterMs, shortestWaitMs);
  // The last poll comes at the end of the publish window.
  const atMs = Math.min(deps.now().getTime() + waitMs, publishWindowEndMs(job) + 1000);
  const message = 'The network has the post and is still processing it.';
  await recordProcessing(deps, job, message, atMs);
  throw new ProcessingError(message, atMs);
}

async function pollReadiness(
  attempt: PublishAttempt,
  entry: LedgerEntry,
  sent: SentPart,
): Promise<Readiness> {
  const { deps, job, network, connection } = attempt;
  try {
    return (await network.readiness?.(connection, entry, sent)) ?? { kind: 'ready' };
  } catch (error) {
    if (!(error instanceof NetworkError)) {
      throw error;
    }

    if (error.code === 'media_refused' || error.code === 'content_refused') {
      await query(
        deps.orm.em.fork(),
        markRejected(job.workspaceId, job.postChannelId, entry, deps.now()),
      );
      throw error;
    }

    if (error.code === 'access_lost') {
      throw error; // `recordProcessingFailure` reports it to the channel's owner.
    }

    // The post exists, so other errors only delay the next poll.
    const atMs = error.retryAtMs ?? 0;
    return { kind: 'processing', checkAfterMs: Math.max(usualWaitMs, atMs - deps.now().getTime()) };
  }
}

/** A second check may give the same warning: add it once. */
const warned = (sent: SentPart, warning: string | undefined): SentPart =>
  warning === undefined || sent.warning?.includes(warning)
    ? sent
    : { ...sent, warning: [sent.warning, warning].filter(Boolean).join(' ') };

export async function recordProcessing(
  deps: ActivityDeps,
  job: PublishJob,
  message: string,
  atMs: number,
): Promise<void> {
  const error = `${message} ${failureAdvice('processing', atMs)}`;
  await query(
    deps.orm.em.fork(),
    sql`update post_channels pc set ${retryingValues({ code: 'processing', error }, new Date(atMs))}
      where pc.id = ${job.postChannelId} and pc.workspace_id = ${job.workspaceId} and ${isOpenChannel}`,
  );
}

/**
 * Marks the channel as published and its last parts as sent, in one statement. If the post ended without this result,
 * it is refinalized with a second final event.
 */
export async function recordSuccess(
  deps: ActivityDeps,
  job: PublishJob,
  live: Live,
): Promise<void> {
  const { workspaceId, postId, postChannelId } = job;
  const now = deps.now();
  const em = deps.orm.em.fork();
  const [inTime] = await query(em, publish(job, live, now, sql`status = 'publishing'`));
  if (inTime) {
    return;
  }

  await em.transactional(async (within) => {
    const [was] = await query(
      within,
      sql<{ post: PostStatus; channel: ChannelStatus }>`
        select p.status as post, pc.status as channel
        from posts p join post_channels pc on pc.post_id = p.id and pc.workspace_id = p.workspace_id
        where pc.id = ${postChannelId} and p.id = ${postId} and p.workspace_id = ${workspaceId} for no key update`,
    );
    await query(within, publish(job, live, now, sql`true`));
    await sumMetrics(within, workspaceId, [postId]);
    const hasEnded = was?.post === 'failed' || was?.post === 'published';
    if (hasEnded && was.channel !== 'published') {
      await refinalizePost(within, job, deps);
    }

    await refinalizeCancelled(within, job, deps);
  });
}

/**
 * SQL: stores the result if the post's row meets a condition, and returns the channel; the parts are sent in any case.
 * The sent text comes from the ledger, since the post may have been edited before its reconcile.
 */
function publish(
  { workspaceId, postId, postChannelId }: PublishJob,
  { sent: [first, ...more], last }: Live,
  now: Date,
  which: RawBuilder<unknown>,
) {
  const text = last.find(({ part }) => part === 0)?.text ?? null;
  const warnings = new Set([first, ...more].flatMap((part) => part?.warning ?? []));
  return sql`
    with post as (
      update posts set published_at = coalesce(published_at, ${now}), updated_at = ${now}
      where id = ${postId} and workspace_id = ${workspaceId} and ${which} returning id),
    channel as (
      update post_channels pc set ${publishedValues(now)}, url = ${first ? postAddress(first.url) : null},
        sent_text = coalesce(${text}::text, ${sentText}), sent_warning = ${[...warnings].join(' ') || null}
      from post where pc.id = ${postChannelId} and pc.workspace_id = ${workspaceId} and pc.post_id = post.id
      returning pc.id),
    live as (${markSent(workspaceId, last, now)})
    select id from channel`;
}

const stillProcessing =
  'The account was disconnected before the network confirmed that it had finished processing this post. Check the post on the network.';

/** Marks a channel whose account was disconnected as published if the network has every part. @returns whether it does. */
export async function recordCompleteThread(deps: ActivityDeps, job: PublishJob): Promise<boolean> {
  if (!isWhole(job, job.ledger)) {
    return false;
  }

  const warning = deps.networks[job.platform]?.readiness ? { warning: stillProcessing } : {};
  const sent = sentPartsOf(job.ledger).map((part) => Object.assign({}, part, warning));
  await recordSuccess(deps, job, { sent, last: [] });
  return true;
}
