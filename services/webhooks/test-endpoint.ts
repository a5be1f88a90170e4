import { sql } from 'kysely';
import { recordAudit, type Actor } from '../../db/audit.ts';
import { WebhookEndpoint } from '../../db/entities/webhooks.ts';
import { newId } from '../../db/new-id.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { eventBody, eventWithDeliveries } from '../../db/record-event.ts';
import { signingSecretPurpose } from '../../db/sealing-purposes.ts';
import { secretsOf } from '../../domain/webhook-deliveries.ts';
import { sendWebhook, type WebhookResult } from '../../runtime/send-webhook.ts';
import type { ServiceDeps } from '../deps.ts';
import { loadDelivery, type DeliveryView } from './read-deliveries.ts';
import { unknownEndpoint } from './read-endpoints.ts';

type TestedDelivery = DeliveryView & {
  /** The beginning of the receiver's response as text; null without a response. */
  readonly response_body: string | null;
};

/**
 * Sends a `webhook.test` event to the endpoint in one attempt, regardless of its subscriptions. The delivery is stored
 * afterwards in one transaction, so that a crash leaves nothing pending.
 *
 * @throws AppError `not_found`, also when the endpoint was deleted meanwhile. A failing receiver is not an error.
 */
export async function testEndpoint(
  deps: Pick<ServiceDeps, 'orm' | 'now' | 'egress' | 'sealer'>,
  actor: Actor,
  id: string,
): Promise<TestedDelivery> {
  const { workspaceId } = actor;
  const em = deps.orm.em.fork();
  const endpoint = await em.findOne(WebhookEndpoint, { id, workspaceId });
  if (!endpoint) {
    throw unknownEndpoint(id);
  }

  const { url } = endpoint;
  const createdAt = deps.now();
  const event = { workspaceId, type: 'webhook.test', createdAt } as const;
  const eventId = newId();
  const body = eventBody(eventId, { ...event, data: { webhook: { id, url } } });
  const result = await sendWebhook(
    deps.egress,
    { url, eventId, eventType: event.type, body },
    secretsOf(endpoint, createdAt),
    (sealed) => deps.sealer.open(sealed, signingSecretPurpose(id)),
    createdAt,
  );
  const test = { ...event, endpointId: id, eventId, body, result };
  const delivery = await deps.orm.em.fork().transactional(async (within) => {
    await recordAudit(within, actor, 'webhook.tested', id);
    return record(within, test);
  });
  return { ...delivery, response_body: result.responseBody };
}

type Test = {
  readonly workspaceId: string;
  readonly type: string;
  readonly createdAt: Date;
  readonly endpointId: string;
  readonly eventId: string;
  readonly body: string;
  readonly result: WebhookResult;
};

/** @throws AppError `not_found` when the endpoint was deleted meanwhile. The insert locks it against deletion. */
async function record(em: Em, test: Test): Promise<DeliveryView> {
  const { workspaceId, endpointId, eventId, type, body, createdAt, result } = test;
  const status = result.error === null ? 'delivered' : 'failed';
  const [delivery] = await query<{ id: string }>(
    em,
    sql`with ${eventWithDeliveries({
      event: { id: eventId, workspaceId, type, body, createdAt },
      endpointId,
      state: sql`${status}::text, null::timestamptz, null::text`,
    })}
      insert into delivery_attempts
        (id, workspace_id, delivery_id, number, created_at, duration_ms, response_status, error)
      select ${newId()}::uuid, ${workspaceId}::uuid, id, 1, ${createdAt}::timestamptz, ${result.durationMs}::int,
        ${result.status}::int, ${result.error}::text
      from delivery returning delivery_id as id`,
  );
  if (!delivery) {
    throw unknownEndpoint(endpointId);
  }

  return loadDelivery(em, workspaceId, endpointId, delivery.id);
}
