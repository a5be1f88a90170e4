import { ask } from '../../db/ask.ts';
import type { DeliveryStatus } from '../../db/entities/delivery.ts';
import { newId } from '../../db/new-id.ts';
import type { StoredSecrets } from '../../domain/signing-secrets.ts';
import type { WebhookRequest } from '../../runtime/webhook-request.ts';
import type { ActivityDeps } from '../deps.ts';
import { beginAttempt, type BegunAttempt } from './begin-attempt.ts';
import { makePlaces } from './places.ts';

export type DeliveryRequest = { readonly workspaceId: string; readonly deliveryId: string };

export type LoadedDelivery = WebhookRequest & {
  readonly id: string;
  readonly workspaceId: string;
  readonly status: DeliveryStatus;
  /** Attempts of earlier rounds. */
  readonly attemptsBefore: number;
  /** In milliseconds; 0 or less when it is now. */
  readonly nextAttemptInMs: number;
  /** How often the newest attempt was begun without an end. */
  readonly interrupted: number;
  readonly endpointId: string;
  readonly isDisabled: boolean;
  /** What this try has begun; null when it is too early, all places are taken, or none is needed. */
  readonly begun: BegunAttempt | null;
  readonly secrets: StoredSecrets;
};

type Row = {
  status: DeliveryStatus;
  attempts_before: number;
  next_attempt_in_ms: number | null;
  interrupted: number;
  endpoint_id: string;
  disabled: boolean;
  has_places: boolean;
  place: number | null;
  number: number | null;
  begun: number | null;
  begun_at: string | Date | null;
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
 * Reads what goes out, afresh at every attempt, so that a changed URL or secret counts from the next one on; and begins
 * the attempt, if it may begin now: takes one of the endpoint's places and writes it down.
 *
 * @returns null when the delivery was deleted.
 */
export async function loadDelivery(
  deps: ActivityDeps,
  request: DeliveryRequest,
): Promise<LoadedDelivery | null> {
  const row = await readRow(deps, request);
  if (row?.status !== 'pending' || row.has_places) {
    return row ? present(request, row) : null;
  }

  await makePlaces(deps, request.workspaceId, row.endpoint_id);
  const again = await readRow(deps, request);
  return again ? present(request, again) : null;
}

async function readRow(
  deps: ActivityDeps,
  { workspaceId, deliveryId }: DeliveryRequest,
): Promise<Row | undefined> {
  const [row] = await ask<Row>(
    deps.orm.em.fork(),
    `with ${beginAttempt}
     select d.status, d.attempts_before, d.endpoint_id, d.event_id, e.type, e.body, w.url,
       (extract(epoch from d.next_attempt_at - clock_timestamp()) * 1000)::float8 as next_attempt_in_ms,
       w.disabled_at is not null as disabled, coalesce((select begun from newest where under_way), 0) as interrupted,
       exists (select 1 from endpoint_places p
         where p.endpoint_id = d.endpoint_id and p.workspace_id = d.workspace_id) as has_places,
       taken.place, begun.number, begun.begun, begun.created_at as begun_at,
       w.sealed_secret, w.secret_hint, w.next_sealed_secret, w.next_secret_hint, w.rotates_at
     from deliveries d
     join webhook_endpoints w on w.id = d.endpoint_id and w.workspace_id = d.workspace_id
     join events e on e.id = d.event_id and e.workspace_id = d.workspace_id
     left join taken on true left join begun on true
     where d.id = $1 and d.workspace_id = $2`,
    [deliveryId, workspaceId, newId()],
  );
  return row;
}

const present = ({ workspaceId, deliveryId }: DeliveryRequest, row: Row): LoadedDelivery => ({
  id: deliveryId,
  workspaceId,
  status: row.status,
  attemptsBefore: row.attempts_before,
  nextAttemptInMs: row.next_attempt_in_ms ?? 0,
  interrupted: row.interrupted,
  endpointId: row.endpoint_id,
  isDisabled: row.disabled,
  begun: begunIn(row),
  url: row.url,
  secrets: secretsIn(row),
  eventId: row.event_id,
  eventType: row.type,
  body: row.body,
});

const begunIn = ({ place, number, begun, begun_at: at }: Row): BegunAttempt | null =>
  place === null || number === null || begun === null || at === null
    ? null
    : { place, number, begun, at: new Date(at) };

const secretsIn = (row: Row): StoredSecrets => ({
  sealedSecret: row.sealed_secret,
  secretHint: row.secret_hint,
  nextSealedSecret: row.next_sealed_secret,
  nextSecretHint: row.next_secret_hint,
  rotatesAt: row.rotates_at === null ? null : new Date(row.rotates_at),
});
