import type { ActivityDeps } from '../deps.ts';

export type DeliveryRequest = { readonly workspaceId: string; readonly deliveryId: string };

export type PendingDelivery = {
  readonly id: string;
  readonly workspaceId: string;
  readonly status: 'pending' | 'delivered' | 'failed';
  readonly attemptsMade: number;
  readonly endpointId: string;
  readonly url: string;
  readonly sealedSecret: string;
  readonly eventId: string;
  readonly eventType: string;
  /** The bytes that are sent and signed. */
  readonly body: string;
};

type Row = {
  status: PendingDelivery['status'];
  attempts: number;
  endpoint_id: string;
  url: string;
  sealed_secret: string;
  event_id: string;
  type: string;
  body: string;
};

/** Read afresh at every attempt, so that a changed URL or secret counts from the next one on. Null: deleted. */
export async function loadDelivery(
  deps: ActivityDeps,
  { workspaceId, deliveryId }: DeliveryRequest,
): Promise<PendingDelivery | null> {
  const [row] = await deps.orm.em.fork().execute<Row[]>(
    `select d.status, (select coalesce(max(number), 0)::int from delivery_attempts a where a.delivery_id = d.id) as attempts,
       d.endpoint_id, w.url, w.sealed_secret, d.event_id, e.type, e.body
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
        endpointId: row.endpoint_id,
        url: row.url,
        sealedSecret: row.sealed_secret,
        eventId: row.event_id,
        eventType: row.type,
        body: row.body,
      }
    : null;
}
