import type { DeliveryStatus } from '../../db/entities/delivery.ts';
import type { StoredSecrets } from '../../domain/signing-secrets.ts';
import type { WebhookRequest } from '../../runtime/webhook-request.ts';
import type { ActivityDeps } from '../deps.ts';

export type DeliveryRequest = { readonly workspaceId: string; readonly deliveryId: string };

export type LoadedDelivery = WebhookRequest & {
  readonly id: string;
  readonly workspaceId: string;
  readonly status: DeliveryStatus;
  /** In all rounds together. */
  readonly attemptsMade: number;
  /** Those of earlier rounds among them. */
  readonly attemptsBefore: number;
  readonly endpointId: string;
  readonly secrets: StoredSecrets;
};

type Row = {
  status: DeliveryStatus;
  attempts: number;
  attempts_before: number;
  endpoint_id: string;
  url: string;
  sealed_secret: string;
  secret_hint: string;
  next_sealed_secret: string | null;
  next_secret_hint: string | null;
  rotates_at: string | Date | null;
  event_id: string;
  type: string;
  body: string;
};

/** Read afresh at every attempt, so that a changed URL or secret counts from the next one on. Null: deleted. */
export async function loadDelivery(
  deps: ActivityDeps,
  { workspaceId, deliveryId }: DeliveryRequest,
): Promise<LoadedDelivery | null> {
  const [row] = await deps.orm.em.fork().execute<Row[]>(
    `select d.status, d.attempts_before, d.endpoint_id, d.event_id, e.type, e.body, w.url,
       w.sealed_secret, w.secret_hint, w.next_sealed_secret, w.next_secret_hint, w.rotates_at,
       (select coalesce(max(number), 0)::int from delivery_attempts a
        where a.delivery_id = d.id and a.workspace_id = d.workspace_id) as attempts
     from deliveries d
     join webhook_endpoints w on w.id = d.endpoint_id and w.workspace_id = d.workspace_id
     join events e on e.id = d.event_id and e.workspace_id = d.workspace_id
     where d.id = ? and d.workspace_id = ?`,
    [deliveryId, workspaceId],
  );
  return row
    ? {
        id: deliveryId,
        workspaceId,
        status: row.status,
        attemptsMade: row.attempts,
        attemptsBefore: row.attempts_before,
        endpointId: row.endpoint_id,
        url: row.url,
        secrets: secretsIn(row),
        eventId: row.event_id,
        eventType: row.type,
        body: row.body,
      }
    : null;
}

const secretsIn = (row: Row): StoredSecrets => ({
  sealedSecret: row.sealed_secret,
  secretHint: row.secret_hint,
  nextSealedSecret: row.next_sealed_secret,
  nextSecretHint: row.next_secret_hint,
  rotatesAt: row.rotates_at === null ? null : new Date(row.rotates_at),
});
