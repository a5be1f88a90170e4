import {
  ActivityFailure,
  CancellationScope,
  isCancellation,
  patched,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { deliveryFailure } from './failures.ts';
import { readReplay, replay, webhooksQueue, type DeliverWebhookInput } from './messages.ts';
import { errorCodesKey, upsertIfSearchable } from './search-attributes.ts';

const { attemptDelivery } = proxyActivities<Activities>({
  taskQueue: webhooksQueue,
  summary: 'Send the event to the endpoint',
  // A request may take 10 s; the rest is for our own database, which may stall while the result is stored.
  startToCloseTimeout: '90 seconds',
  // A request under way finishes; a wait for the next attempt ends at once.
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  // A killed worker is noticed this soon. A try first heartbeats after 5 s, so a usual one records none.
  heartbeatTimeout: '20 seconds',
  // The waits between attempts come with each failure (nextRetryDelay) and a round's sixth attempt ends it, both
  // counted in the database. These are for what cannot carry a delay: a crash, a database that is away, another
  // SECRET_KEY. Looks for a free slot count as tries too: an event that looked often waits the longest interval.
  retry: { initialInterval: '5 seconds', backoffCoefficient: 2, maximumInterval: '2 minutes' },
});

type Outcome = 'delivered' | 'failed' | 'gone';

/**
 * Delivers one event to one endpoint: one activity with six attempts, which costs 11 events of history. When it is given
 * up the workflow ends as Failed; a result `failed` is only in older histories. A replay
 * comes by `signalWithStart`, so it reaches a workflow that is about to end as surely as one that never was.
 *
 * A replay ends the wait for an attempt, and the activity looks at the row. As a rule there is no such wait, since only
 * what has ended is replayed. Where the database was restored or failed over it may be one of hours, for an attempt that
 * the database has lost, and rounds go on from a number that was signalled already.
 */
export async function deliverWebhook(input: DeliverWebhookInput): Promise<Outcome> {
  const { workspaceId, deliveryId, round = 1 } = input;
  const startLength = workflowInfo().historyLength;
  let latest = round;
  let attempts = new CancellationScope();
  setHandler(
    replay,
    (given) => {
      const signalled = readReplay(given);
      // `signalWithStart` sends the round of the input once more.
      const isStart = signalled === latest && workflowInfo().historyLength === startLength;
      if (signalled === null || isStart) {
        return;
      }

      if (patched('round-ends-wait')) {
        latest = signalled;
        attempts.cancel();
      } else {
        latest = Math.max(latest, signalled);
      }
    },
    { description: 'Deliver once more: {round}.' },
  );
  for (;;) {
    const current = latest;
    attempts = new CancellationScope();
    setCurrentDetails(
      `Being delivered (round ${current}). The pending activity shows the attempt, why the last one failed, and when the next one is.\n\nWorkspace \`${workspaceId}\`.`,
    );
    const status = await endOf(attempts, () => attemptDelivery({ workspaceId, deliveryId }));
    if (status !== null) {
      setCurrentDetails(
        `The delivery is **${status}** (round ${current}).\n\nWorkspace \`${workspaceId}\`.`,
      );
    }

    if (status !== null && latest === current && !attempts.consideredCancelled) {
      upsertIfSearchable(
        status === 'failed' ? [{ key: errorCodesKey, value: ['webhook_failed'] }] : [],
      );
      if (status === 'failed' && patched('given-up-fails')) {
        throw deliveryFailure(deliveryId, current);
      }

      return status;
    }
  }
}

/** @returns null when another round ended its wait. */
async function endOf<T>(scope: CancellationScope, work: () => Promise<T>): Promise<T | null> {
  const outside = CancellationScope.current();
  try {
    return await scope.run(work);
  } catch (error) {
    const isEnded = isCancellation(error) || error instanceof ActivityFailure;
    if (!isEnded || !scope.consideredCancelled || outside.consideredCancelled) {
      throw error;
    }

    return null;
  }
}
