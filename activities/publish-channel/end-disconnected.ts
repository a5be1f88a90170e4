import { sentParts, type Entry } from '../../db/ledger/entries.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishFailure } from './classify-error.ts';
import type { PublishJob } from './job.ts';
import { wholeThread } from './lock-ledger.ts';
import { recordSuccess } from './record-success.ts';

/*
 * A channel whose account its owner disconnected ends by what the ledger says: without credentials the network can be
 * asked for nothing. As a rule the disconnection has ended it. What is left is what was being sent at that moment, when
 * its worker died or heard no answer.
 */

export const disconnected: PublishFailure = {
  code: 'disconnected',
  message: 'The account was disconnected before it had the post.',
  limit: 'channel',
};

const stillProcessing =
  'The account was disconnected before the network said that it had finished processing this post: look at it there.';

/** @returns whether the network has all of it, as the channel says from now on. */
export async function recordWhole(
  deps: ActivityDeps,
  job: PublishJob,
  entries: readonly Entry[],
): Promise<boolean> {
  const whole = await wholeThread(deps, job, entries);
  if (whole === null) {
    return false;
  }

  const warning = deps.networks[job.platform]?.readiness ? { warning: stillProcessing } : {};
  const sent = sentParts(whole).map((part) => Object.assign({}, part, warning));
  await recordSuccess(deps, job, { sent, last: [] });
  return true;
}
