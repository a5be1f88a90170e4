import { markAccessLost } from '../../accounts/mark-access.ts';
import { isComplete, sentPartsOf, type LedgerEntry } from '../../db/ledger/entries.ts';
import { failureAdvice } from '../../domain/channel-error.ts';
import type { ActivityDeps } from '../deps.ts';
import { recordProcessing } from './check-processing.ts';
import type { PublishFailure } from './classify-error.ts';
import { publishWindowEndMs, isPublishWindowOver, type PublishJob } from './job.ts';
import { isReconnected } from '../account/channel-account.ts';
import { readJobEntries } from './reconcile.ts';
import { recordSuccess } from './record-success.ts';

/** Poll interval while status requests fail, in milliseconds: half of the post's lateness, within these bounds. */
const [shortestWaitMs, longestWaitMs] = [30_000, 15 * 60_000];

/** Next step after an attempt that failed although the network has all parts. */
export type ProcessingFailure =
  | { readonly kind: 'published' }
  | { readonly kind: 'again'; readonly atMs: number };

/**
 * Handles an attempt that failed while polling, after the network took all parts: access was lost, the server did not
 * answer, or an internal error. Nothing is sent again. Lost access is recorded, and polling continues until the publish
 * window ends; then the post counts as published, with a warning.
 *
 * @returns null if the network does not have all parts, or shows posts at once.
 */
export async function recordProcessingFailure(
  deps: ActivityDeps,
  job: PublishJob,
  failure: PublishFailure,
): Promise<ProcessingFailure | null> {
  if (!deps.networks[job.platform]?.readiness) {
    return null;
  }

  const entries = await readJobEntries(deps, job);
  if (entries.length < job.texts.length || !isComplete(entries)) {
    return null;
  }

  const why = await reportLostAccess(deps, job, failure);
  const [first] = sentPartsOf(entries);
  const where = first ? ` (${first.url})` : '';
  if (isPublishWindowOver(deps, job)) {
    const warning = `The network has accepted this post${where}, but this service could not confirm that it is visible. Check the post on the network. ${why}`;
    await recordSuccess(deps, job, warned(entries, warning));
    return { kind: 'published' };
  }

  const nowMs = deps.now().getTime();
  const lateMs = nowMs - job.dueAt.getTime();
  const waitMs = Math.min(Math.max(lateMs / 2, shortestWaitMs), longestWaitMs);
  const atMs = Math.min(
    Math.max(nowMs + waitMs, failure.retryAtMs ?? 0),
    publishWindowEndMs(job) + 1000,
  );
  const message = `The network has the post${where}, but it is not known yet whether it is visible: ${why}`;
  await recordProcessing(deps, job, `${message} ${failureAdvice('processing', atMs)}`, atMs);
  return { kind: 'again', atMs };
}

/** Marks the channel's access as lost if that was the failure. @returns the reason, for the post's owner. */
async function reportLostAccess(
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
      await markAccessLost(em, deps, job, error, 'outbox');
    }

    return error;
  });
}

function warned(entries: readonly LedgerEntry[], warning: string) {
  const last = entries.map((entry) => ({
    ...entry,
    sent: entry.sent && entry.part === 0 ? { ...entry.sent, warning } : entry.sent,
  }));
  return { sent: sentPartsOf(last), last };
}
