import { proxyActivities, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { replay, webhooksQueue, type DeliverWebhookInput } from './messages.ts';

const { attemptDelivery } = proxyActivities<Activities>({
  taskQueue: webhooksQueue,
  summary: 'POST to the endpoint',
  // A request takes 10 s at most; the rest is for our database.
  startToCloseTimeout: '30 seconds',
  // Failures carry the wait before the next attempt (`nextRetryDelay`), and the sixth attempt of a round ends it; the
  // database counts both. These intervals are for errors without a delay: a crash, or a database that is unavailable.
  retry: { initialInterval: '5 seconds', backoffCoefficient: 2, maximumInterval: '10 minutes' },
});

/**
 * Delivers one event to one endpoint with one activity of six attempts, which costs 11 history events. A replay uses
 * `signalWithStart`, so it also reaches a workflow that is about to end or has ended.
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
