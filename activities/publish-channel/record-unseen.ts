import { loseAccess } from '../../accounts/lose-access.ts';
import { isWhole, sentParts, type Entry } from '../../db/ledger/entries.ts';
import { failureAdvice } from '../../domain/channel-error.ts';
import type { ActivityDeps } from '../deps.ts';
import { recordProcessing } from './await-readiness.ts';
import type { PublishFailure } from './classify-error.ts';
import { dayEndMs, isDayOver, type PublishJob } from './job.ts';
import { isReconnected } from '../account/channel-account.ts';
import { readJobEntries } from './reconcile.ts';
import { recordSuccess } from './record-success.ts';

/** Between looks that nobody lets us have, in milliseconds: half as long as the post is late, within these. */
const [shortestWaitMs, longestWaitMs] = [30_000, 15 * 60_000];

/** What follows from a try that failed after the network had taken all of the post. */
export type Unseen =
  | { readonly kind: 'published' }
  | { readonly kind: 'again'; readonly atMs: number };

/**
 * A try that failed once the network had taken the post, and only its look was left: access was lost, the server is away,
 * a fault of ours. Nothing is sent again for it. The channel that lost its access is told so, and the post waits to be
 * seen until its day is over; then it counts as published, with what is known.
 *
 * @returns null when the network does not have all of it, or shows what it takes at once.
 */
export async function recordUnseen(
  deps: ActivityDeps,
  job: PublishJob,
  failure: PublishFailure,
): Promise<Unseen | null> {
  if (!deps.networks[job.platform]?.readiness) {
    return null;
  }

  const entries = await readJobEntries(deps, job);
  if (entries.length < job.texts.length || !isWhole(entries)) {
    return null;
  }

  const why = await toldOf(deps, job, failure);
  const [first] = sentParts(entries);
  const where = first ? ` (${first.url})` : '';
  if (isDayOver(deps, job)) {
    const warning = `The network has taken this post${where}, and whether it can be seen could not be found out: look at it there. ${why}`;
    await recordSuccess(deps, job, warned(entries, warning));
    return { kind: 'published' };
  }

  const nowMs = deps.now().getTime();
  const lateMs = nowMs - job.dueAt.getTime();
  const waitMs = Math.min(Math.max(lateMs / 2, shortestWaitMs), longestWaitMs);
  const atMs = Math.min(Math.max(nowMs + waitMs, failure.retryAtMs ?? 0), dayEndMs(job) + 1000);
  const message = `The network has the post${where}, and whether it can be seen is not known yet: ${why}`;
  await recordProcessing(deps, job, `${message} ${failureAdvice('processing', atMs)}`, atMs);
  return { kind: 'again', atMs };
}

/** Marks the channel's access as lost where that is what failed. @returns why nothing is seen, for the post's owner. */
async function toldOf(
  deps: ActivityDeps,
  job: PublishJob,
  { code, message }: PublishFailure,
): Promise<string> {
  if (code !== 'access_lost') {
    return message;
  }

  return deps.orm.em.fork().transactional(async (em) => {
    const error = `${message} Connect the channel again.`;
    if (!(await isReconnected(em, job))) {
      await loseAccess(em, deps, job, error, 'outbox');
    }

    return error;
  });
}

function warned(entries: readonly Entry[], warning: string) {
  const last = entries.map((entry) => ({
    ...entry,
    sent: entry.sent && entry.part === 0 ? { ...entry.sent, warning } : entry.sent,
  }));
  return { sent: sentParts(last), last };
}
