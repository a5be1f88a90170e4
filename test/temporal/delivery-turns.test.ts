import { syncDelivery } from '../../temporal/sync-delivery.ts';
import { deliveryWorkflowId } from '../../workflows/messages.ts';
import { storeDelivery } from '../api/webhooks/stored-delivery.ts';
import { newClient } from '../support/client.ts';
import { needs } from '../support/needs.ts';
import { startApi } from '../support/punctual.ts';
import { startReceiver } from '../support/receiver.ts';

const test = needs('temporal');

test('deliveries that are replayed take turns with those of other workspaces', async (t) => {
  const receiver = await startReceiver(t);
  const punctual = await startApi(t, { allowPorts: [receiver.port] });
  const { temporal, orm } = punctual;
  const client = await newClient(punctual);
  const { workspaceId } = client;
  await client.post('/webhooks', { url: receiver.url, events: ['post.failed'] });
  const deliveryId = await storeDelivery(punctual, workspaceId, 'failed');

  await syncDelivery(temporal.client, orm.em.fork(), { workspaceId, deliveryId, round: 2 });

  const handle = temporal.client.workflow.getHandle(deliveryWorkflowId(deliveryId));
  const { events } = await handle.fetchHistory();
  const started = events?.[0]?.workflowExecutionStartedEventAttributes;
  t.is(started?.priority?.fairnessKey, workspaceId);
});
