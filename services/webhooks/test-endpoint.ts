import { recordAudit, type Actor } from '../../db/audit.ts';
import { newId } from '../../db/new-id.ts';
import { eventBody, recordTest } from '../../db/record-event.ts';
import { findEndpoint, unknownEndpoint } from '../../db/repositories/endpoints.ts';
import { signingSecretPurpose } from '../../db/sealing-purposes.ts';
import { secretsOf } from '../../domain/webhook-deliveries.ts';
import { sendWebhook } from '../../runtime/send-webhook.ts';
import type { ServiceDeps } from '../deps.ts';
import { loadDelivery, type DeliveryView } from './read-deliveries.ts';

type TestedDelivery = DeliveryView & {
  /** The beginning of the receiver's response as text; null without a response. */
  readonly response_body: string | null;
};

/**
 * Sends a `webhook.test` event to the endpoint in one attempt, regardless of its subscriptions. The delivery is stored
 * afterwards in one transaction, so that a crash leaves nothing pending. A failing receiver is not an error.
 */
export async function testEndpoint(
  deps: Pick<ServiceDeps, 'orm' | 'now' | 'egress' | 'sealer'>,
  actor: Actor,
  id: string,
): Promise<TestedDelivery> {
  const { workspaceId } = actor;
  const endpoint = await findEndpoint(deps.orm.em.fork(), workspaceId, id);
  const { url } = endpoint;
  const createdAt = deps.now();
  const event = { workspaceId, type: 'webhook.test', data: { webhook: { id, url } } } as const;
  const eventId = newId();
  const body = eventBody(eventId, { ...event, createdAt });
  const result = await sendWebhook(
    deps.egress,
    { url, eventId, eventType: event.type, body },
    secretsOf(endpoint, createdAt),
    (sealed) => deps.sealer.open(sealed, signingSecretPurpose(id)),
    createdAt,
  );
  const sent = { id: eventId, createdAt, body, endpointId: id };
  const delivery = await deps.orm.em.fork().transactional(async (em) => {
    await recordAudit(em, actor, 'webhook.tested', id);
    const stored = await recordTest(em, event, sent, result);
    if (stored === undefined) {
      throw unknownEndpoint(id); // It was deleted meanwhile.
    }

    return loadDelivery(em, workspaceId, id, stored);
  });
  return { ...delivery, response_body: result.responseBody };
}
