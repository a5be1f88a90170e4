import type { ExecutionContext } from 'ava';
import { attemptDelivery } from '../../activities/attempt-delivery/attempt-delivery.ts';
import { recordEvent } from '../../db/record-event.ts';
import { newClient } from '../support/client.ts';
import { startApi } from '../support/punctual.ts';
import { startReceiver, type Received } from '../support/receiver.ts';

/** Texts that a careless signer or verifier takes for others. */
const texts = [
  'Hello',
  'héllo 🌍 日本 \u2028\u2029 \u0000 \ud83d\ude00',
  'dots . and .. {"id":"x"} \\ "quotes" \r\n\t',
  '12345678901234567890.123456789012345678901234567890',
  '</script><!-- &amp; %2e + =',
  'x'.repeat(50_000),
];

/** What a receiver got while an endpoint's secret was the first one, was being replaced, and was replaced. */
export type RealRequests = {
  readonly first: string;
  readonly second: string;
  readonly before: readonly Received[];
  readonly during: readonly Received[];
  readonly after: readonly Received[];
};

/** Has a receiver sent events by the worker's activity and by a test call, before, during and after a rotation. */
export async function realRequests(t: ExecutionContext): Promise<RealRequests> {
  const receiver = await startReceiver(t);
  const punctual = await startApi(t, { allowPorts: [receiver.port] });
  const { deps, orm } = punctual;
  const client = await newClient(punctual);
  const { workspaceId } = client;
  const hook = { url: receiver.url, events: ['post.failed'] };
  const { webhook } = (await client.post('/webhooks', hook)).body;
  const path = `/webhooks/${webhook.id}`;
  const sent = async (): Promise<Received[]> => {
    const from = receiver.received.length;
    await client.post(`${path}/test`);
    for (const body of texts) {
      const event = {
        workspaceId,
        type: 'post.failed',
        createdAt: new Date(),
        data: { body },
      } as const;
      const [deliveryId = ''] = await orm.em.fork().transactional((em) => recordEvent(em, event));
      await attemptDelivery(deps, { workspaceId, deliveryId });
    }

    return receiver.received.slice(from);
  };
  const before = await sent();
  const second = (await client.post(`${path}/rotate`)).body.webhook.secret;
  const during = await sent();
  const over = 'update webhook_endpoints set rotates_at = ? where id = ?';
  await orm.em.fork().execute(over, [new Date(), webhook.id]);
  return { first: webhook.secret, second, before, during, after: await sent() };
}
