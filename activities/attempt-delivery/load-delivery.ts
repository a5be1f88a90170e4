import { ask } from '../../db/ask.ts';
import type { DeliveryStatus } from '../../db/entities/delivery.ts';
import type { StoredSecrets } from '../../domain/signing-secrets.ts';
import type { WebhookRequest } from '../../runtime/webhook-request.ts';
import type { ActivityDeps } from '../deps.ts';
import { makePlaces, takePlace } from './places.ts';

export type DeliveryRequest = { readonly workspaceId: string; readonly deliveryId: string };

export type LoadedDelivery = WebhookRequest & {
  readonly id: string;
  readonly workspaceId: string;
  readonly status: DeliveryStatus;
  /** In all rounds together. */
  readonly attemptsMade: number;
  /** Those of earlier rounds among them. */
  readonly attemptsBefore: number;
  /** Null when nobody says: then it is now. */
  readonly nextAttemptAt: Date | null;
  readonly endpointId: string;
  readonly isDisabled: boolean;
  /** Of the endpoint, taken for this attempt; null when all are taken, or none is needed. */
  readonly place: number | null;
  readonly secrets: StoredSecrets;
};

type Row = {
  status: DeliveryStatus;
  attempts: number;
  attempts_before: number;
  next_attempt_at: string | Date | null;
  endpoint_id: string;
  disabled: boolean;
  has_places: boolean;
  place: number | null;
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

/**
 * Reads what goes out, afresh at every attempt, so that a changed URL or secret counts from the next one on; and takes
 * one of the endpoint's places if the attempt may begin now.
 *
 * @returns null when the delivery was deleted.
 */
export async function loadDelivery(
  deps: ActivityDeps,
  request: DeliveryRequest,
  now: Date,
): Promise<LoadedDelivery | null> {
  const row = await readRow(deps, request, now);
  if (row?.status !== 'pending' || row.has_places) {
    return row ? present(request, row) : null;
  }

  await makePlaces(deps, request.workspaceId, row.endpoint_id);
  const again = await readRow(deps, request, now);
  return again ? present(request, again) : null;
}

async function readRow(
  deps: ActivityDeps,
  { workspaceId, deliveryId }: DeliveryRequest,
  now: Date,
): Promise<Row | undefined> {
  const [row] = await ask<Row>(
    deps.orm.em.fork(),
    `with ${takePlace}
     select d.status, d.attempts_before, d.next_attempt_at, d.endpoint_id, d.event_id, e.type, e.body, w.url,
       w.disabled_at is not null as disabled, (select place from taken) as place,
       exists (select 1 from endpoint_places p
         where p.endpoint_id = d.endpoint_id and p.workspace_id = d.workspace_id) as has_places,
       w.sealed_secret, w.secret_hint, w.next_sealed_secret, w.next_secret_hint, w.rotates_at,
       (select coalesce(max(number), 0)::int from delivery_attempts a
        where a.delivery_id = d.id and a.workspace_id = d.workspace_id) as attempts
     from deliveries d
     join webhook_endpoints w on w.id = d.endpoint_id and w.workspace_id = d.workspace_id
     join events e on e.id = d.event_id and e.workspace_id = d.workspace_id
     where d.id = $1 and d.workspace_id = $2`,
    [deliveryId, workspaceId, now],
  );
  return row;
}

const present = ({ workspaceId, deliveryId }: DeliveryRequest, row: Row): LoadedDelivery => ({
  id: deliveryId,
  workspaceId,
  status: row.status,
  attemptsMade: row.attempts,
  attemptsBefore: row.attempts_before,
  nextAttemptAt: row.next_attempt_at === null ? null : new Date(row.next_attempt_at),
  endpointId: row.endpoint_id,
  isDisabled: row.disabled,
  place: row.place,
  url: row.url,
  secrets: secretsIn(row),
  eventId: row.event_id,
  eventType: row.type,
  body: row.body,
});

const secretsIn = (row: Row): StoredSecrets => ({
  sealedSecret: row.sealed_secret,
  secretHint: row.secret_hint,
  nextSealedSecret: row.next_sealed_secret,
  nextSecretHint: row.next_secret_hint,
  rotatesAt: row.rotates_at === null ? null : new Date(row.rotates_at),
});
