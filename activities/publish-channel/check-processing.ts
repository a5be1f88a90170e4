import { sql } from 'kysely';
import { retryingValues, isUnderWay } from '../../db/channel-status.ts';
import type { LedgerEntry } from '../../db/ledger/entries.ts';
import { markRejected, markSent } from '../../db/ledger/marks.ts';
import { query } from '../../db/query.ts';
import { failureAdvice } from '../../domain/channel-error.ts';
import { NetworkError, type Readiness, type SentPart } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import { publishWindowEndMs, isPublishWindowOver, type PublishJob } from './job.ts';
import { readJobEntries, type PublishAttempt } from './reconcile.ts';
import type { Live } from './record-success.ts';

/** In milliseconds. Poll interval if the network names none or did not answer. */
const usualWaitMs = 30_000;
const shortestWaitMs = 2000;

/** The network has the post but does not show it yet. Thrown after the channel's row is updated. */
export class ProcessingError extends Error {
  override readonly name = 'ProcessingError';
  /** Time of the next poll, in milliseconds since 1970. */
  readonly atMs: number;

  constructor(message: string, atMs: number) {
    super(message);
    this.atMs = atMs;
  }
}

/**
 * Polls the network, once per part, for whether it shows the part. One poll per attempt: processing a video may take an
 * hour, and a waiting attempt would hold a slot of the server and of this worker.
 *
 * The ledger marks the parts as sent before the poll. After the publish window the post counts as published, with a
 * warning: it is on the network, and only its owner can see its state.
 *
 * @returns the published parts, with warnings of the network.
 * @throws ProcessingError if the network has to be polled again.
 * @throws NetworkError if the network rejected a part: the channel fails, and a retry of the post sends the part again.
 * Or `access_lost`, which says nothing about the post.
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

/** @returns the network's warning, if any. */
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
  await recordProcessing(deps, job, `${message} ${failureAdvice('processing', atMs)}`, atMs);
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
      throw error; // record-processing-failure.ts reports it to the channel's owner.
    }

    // The post exists, so other errors only delay the next poll.
    const atMs = error.retryAtMs ?? 0;
    return { kind: 'processing', checkAfterMs: Math.max(usualWaitMs, atMs - deps.now().getTime()) };
  }
}

/** An attempt may come here several times and get the same warning: add it once. */
const warned = (sent: SentPart, warning: string | undefined): SentPart =>
  warning === undefined || sent.warning?.includes(warning)
    ? sent
    : { ...sent, warning: [sent.warning, warning].filter(Boolean).join(' ') };

/** @param error Shown to the post's owner. @param atMs Time of the next poll, in milliseconds since 1970. */
export async function recordProcessing(
  deps: ActivityDeps,
  job: PublishJob,
  error: string,
  atMs: number,
): Promise<void> {
  await query(
    deps.orm.em.fork(),
    sql`update post_channels pc set ${retryingValues({ code: 'processing', error }, new Date(atMs))}
      where pc.id = ${job.postChannelId} and pc.workspace_id = ${job.workspaceId} and ${isUnderWay}`,
  );
}
