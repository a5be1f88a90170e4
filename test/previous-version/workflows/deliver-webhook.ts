import { proxyActivities, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { replay, webhooksQueue, type DeliverWebhookInput } from './messages.ts';

const { attemptDelivery } = proxyActivities<Activities>({
  taskQueue: webhooksQueue,
  summary: 'POST to the endpoint',
  // A request may take 10 s; the rest is our own database.
  startToCloseTimeout: '30 seconds',
  // The waits between attempts come with each failure (nextRetryDelay) and a round's sixth attempt ends it, both
  // counted in the database. These are for what cannot carry a delay: a crash, a database that is away.
  retry: { initialInterval: '5 seconds', backoffCoefficient: 2, maximumInterval: '10 minutes' },
});

/**
 * Delivers one event to one endpoint: one activity with six attempts, which costs 11 events of history. A replay
 * comes by `signalWithStart`, so it reaches a workflow that is about to end as surely as one that never was.
 */
export async function deliverWebhook({
  workspaceId,
  deliveryId,
  round = 1,
}: DeliverWebhookInput): Promise<'delivered' | 'failed' | 'gone'> {
  let asked = round;
  setHandler(replay, (heard) => {
    asked = Math.max(asked, heard.round);
  });
  for (;;) {
    const begun = asked;
    const status = await attemptDelivery({ workspaceId, deliveryId });
    setCurrentDetails(`The delivery is **${status}**.`);
    if (asked === begun) {
      return status;
    }
  }
}
