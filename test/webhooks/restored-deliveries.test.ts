import { deliveryWorkflowId } from '../../workflows/messages.ts';
import { status } from '../support/answers.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { sharedWebhooks } from '../support/webhooks.ts';

const test = needs('temporal');
const api = sharedWebhooks(test, { workers: true });

/** An endpoint with a delivery whose round has not been synced. */
async function unsynced(answer = status(204)) {
  const mine = await api.subscribe(answer);
  const deliveryId = await mine.store('pending');
  const handle = api.punctual.temporal.client.workflow.getHandle(deliveryWorkflowId(deliveryId));
  const set = (change: string): Promise<unknown> =>
    api.punctual.orm.em
      .fork()
      .execute(`update deliveries set ${change} where id = ?`, [deliveryId]);
  return {
    ...mine,
    deliveryId,
    handle,
    set,
    replay: () => mine.client.post(`${mine.path}/deliveries/${deliveryId}/replay`),
    /** Resolves when its workflow waits for the next attempt. */
    asleep: () =>
      poll(
        async () => (await handle.describe().catch(() => null))?.raw.pendingActivities?.[0],
        (activity) => (activity?.attempt ?? 0) >= 2 && activity?.state === 1, // Temporal numbers `SCHEDULED` as 1.
      ),
  };
}

test('a replay is delivered although Temporal waits six hours for an attempt that the restored database lacks', async (t) => {
  for (const rounds of [2, 5]) {
    const { client, webhookId, set, replay, receiver, handle, asleep } = await unsynced();
    const later = `next_attempt_at = clock_timestamp() + interval '6 hours'`;
    await set(`${later}, round = ${rounds}, synced_round = ${rounds - 1}`);
    await asleep();
    await set(`status = 'failed', next_attempt_at = null, round = 1, synced_round = 1`);

    t.is((await replay()).status, 202);

    t.is((await client.finalDelivery(webhookId)).status, 'delivered');
    t.is(await handle.result(), 'delivered');
    t.is(receiver.arrived.length, 1);
  }
});
