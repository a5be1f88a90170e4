import { proxyActivities } from '@temporalio/workflow';
import { webhooksQueue, type DeliverWebhookInput } from '../../workflows/messages.ts';

export type Arrive = { arrive(input: DeliverWebhookInput): Promise<'delivered'> };

const { arrive } = proxyActivities<Arrive>({
  taskQueue: webhooksQueue,
  startToCloseTimeout: '30 seconds',
});

/** The baseline: one activity on another queue, with the input of ours. */
export async function bareDelivery(input: DeliverWebhookInput): Promise<'delivered'> {
  return arrive(input);
}
