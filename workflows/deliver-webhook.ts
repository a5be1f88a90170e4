import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { webhooksQueue, type DeliverWebhookInput } from './messages.ts';

const { attemptDelivery } = proxyActivities<Activities>({
  taskQueue: webhooksQueue,
  summary: 'POST to the endpoint',
  // A request may take 10 s; the rest is our own database.
  startToCloseTimeout: '30 seconds',
  // The waits between attempts come with each failure (nextRetryDelay) and the sixth attempt ends it, both
  // counted in the database. These are for what cannot carry a delay: a crash, a database that is away.
  retry: { initialInterval: '5 seconds', backoffCoefficient: 2, maximumInterval: '10 minutes' },
});

/** Delivers one event to one endpoint: one activity with six attempts, which costs 11 events of history. */
export async function deliverWebhook(
  input: DeliverWebhookInput,
): Promise<'delivered' | 'failed' | 'gone'> {
  const status = await attemptDelivery(input);
  setCurrentDetails(`The delivery is **${status}**.`);
  return status;
}
