import { sentPartsOf, type LedgerEntry } from '../../db/ledger/entries.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishFailure } from './classify-error.ts';
import type { PublishJob } from './job.ts';
import { completeThread } from './lock-ledger.ts';
import { recordSuccess } from './record-success.ts';

/*
 * Ends a channel whose account was disconnected, by the ledger alone: without credentials no request is possible. The
 * disconnection itself ends most channels; left are those that were being sent at that moment and whose worker died or
 * got no response.
 */

export const disconnectedFailure: PublishFailure = {
  code: 'disconnected',
  message: 'The account was disconnected before it had the post.',
  limit: 'channel',
};

const stillProcessing =
  'The account was disconnected before the network confirmed that it had finished processing this post. Check the post on the network.';

/** Marks the channel as published if the network has every part. @returns whether it does. */
export async function recordCompleteThread(
  deps: ActivityDeps,
  job: PublishJob,
  entries: readonly LedgerEntry[],
): Promise<boolean> {
  const complete = await completeThread(deps, job, entries);
  if (complete === null) {
    return false;
  }

  const warning = deps.networks[job.platform]?.readiness ? { warning: stillProcessing } : {};
  const sent = sentPartsOf(complete).map((part) => Object.assign({}, part, warning));
  await recordSuccess(deps, job, { sent, last: [] });
  return true;
}
