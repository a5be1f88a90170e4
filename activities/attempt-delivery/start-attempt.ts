import { sql, type RawBuilder } from 'kysely';
import type { DeliveryStatus } from '../../db/entities/delivery.ts';
import { newId } from '../../db/new-id.ts';
import { query } from '../../db/query.ts';
import type { StoredSecrets } from '../../domain/signing-secrets.ts';
import { longestWaitMs, mostInterrupted } from '../../domain/webhook-deliveries.ts';
import type { WebhookRequest } from '../../runtime/send-webhook.ts';
import type { ActivityDeps } from '../deps.ts';
import {
  createEndpointSlots,
  releaseEndpointSlot,
  takeEndpointSlot,
  type HeldEndpointSlot,
} from './endpoint-slots.ts';

export type DeliveryRequest = { readonly workspaceId: string; readonly deliveryId: string };

/** A stored delivery and the request to send for it. */
export type LoadedDelivery = WebhookRequest & {
  readonly id: string;
  readonly workspaceId: string;
  readonly status: DeliveryStatus;
  /** Attempts of earlier rounds. */
  readonly attemptsBefore: number;
  /** In milliseconds; 0 or less means now. */
  readonly nextAttemptInMs: number;
  /** How often the newest attempt was started without a recorded end. */
  readonly interrupted: number;
  readonly endpointId: string;
  readonly isDisabled: boolean;
  readonly secrets: StoredSecrets;
};

/** An attempt that is stored and holds a slot: its request may be sent. */
export type StartedAttempt = {
  /** Number of the endpoint's slot. */
  readonly slot: number;
  readonly number: number;
  /** More than 1 if earlier executions started the same attempt and their worker died. */
  readonly begun: number;
  /** By the database's clock. */
  readonly at: Date;
};

export type LoadedAndStarted = {
  readonly delivery: LoadedDelivery;
  /** Null if the attempt is not due, no slot is free, or none is needed. */
  readonly attempt: StartedAttempt | null;
};

/**
 * Loads the request and starts the attempt if it is due: takes a slot of the endpoint and stores the attempt, in one
 * statement. Each attempt loads again, so a changed URL or secret applies from the next one on.
 *
 * @returns null if the delivery was deleted.
 */
export async function loadAndStartDelivery(
  deps: ActivityDeps,
  request: DeliveryRequest,
): Promise<LoadedAndStarted | null> {
  const row = await queryRow(deps, request);
  if (row?.status !== 'pending' || row.has_slots) {
    return row ? present(request, row) : null;
  }

  await createEndpointSlots(deps, {
    workspaceId: request.workspaceId,
    endpointId: row.endpoint_id,
  });
  const again = await queryRow(deps, request);
  return again ? present(request, again) : null;
}

/** SQL. A time beyond the longest wait was stored under a wrong clock: the attempt is due now. */
const isDue = sql`(d.next_attempt_at is null or d.next_attempt_at <= clock_timestamp()
  or d.next_attempt_at > clock_timestamp() + ${sql.lit(longestWaitMs)} * interval '1 millisecond')`;

/**
 * SQL: `newest`, `taken`, `begun` and further parts of a statement's `with`. Start the next attempt of a delivery that
 * is due and whose endpoint has a free slot. The attempt is stored before its request. An attempt without a recorded
 * end, probably of a dead worker, is started again under its number, at most `mostInterrupted` times.
 */
const startAttempt = ({ workspaceId, deliveryId }: DeliveryRequest): RawBuilder<unknown> =>
  sql`newest as materialized (
      select number, begun, under_way from delivery_attempts
      where delivery_id = ${deliveryId} and workspace_id = ${workspaceId} order by number desc limit 1),
    due as (
      select d.endpoint_id from deliveries d join webhook_endpoints w on w.id = d.endpoint_id
      where d.id = ${deliveryId} and d.workspace_id = ${workspaceId} and w.workspace_id = ${workspaceId}
        and d.status = 'pending' and w.disabled_at is null and ${isDue}
        and not exists (select from newest where under_way and begun >= ${sql.lit(mostInterrupted)})),
    ${takeEndpointSlot(workspaceId, deliveryId)},
    begun as (
      insert into delivery_attempts as a
        (id, workspace_id, delivery_id, number, created_at, duration_ms, error, under_way)
      select ${newId()}::uuid, ${workspaceId}::uuid, ${deliveryId}::uuid,
        coalesce((select case when under_way then number else number + 1 end from newest), 1),
        clock_timestamp(), 0, 'interrupted', true
      from taken
      on conflict (delivery_id, number) do update set begun = a.begun + 1, created_at = excluded.created_at
        where a.under_way
      returning number, begun, created_at)`;

type Row = {
  status: DeliveryStatus;
  attempts_before: number;
  next_attempt_in_ms: number | null;
  interrupted: number;
  endpoint_id: string;
  disabled: boolean;
  has_slots: boolean;
  slot: number | null;
  number: number | null;
  begun: number | null;
  begun_at: Date | null;
  url: string;
  sealed_secret: string;
  secret_hint: string;
  next_sealed_secret: string | null;
  next_secret_hint: string | null;
  rotates_at: Date | null;
  event_id: string;
  type: string;
  body: string;
};

async function queryRow(deps: ActivityDeps, request: DeliveryRequest): Promise<Row | undefined> {
  const [row] = await query<Row>(
    deps.orm.em.fork(),
    sql`with ${startAttempt(request)}
      select d.status, d.attempts_before, d.endpoint_id, d.event_id, e.type, e.body, w.url,
        (extract(epoch from d.next_attempt_at - clock_timestamp()) * 1000)::float8 as next_attempt_in_ms,
        w.disabled_at is not null as disabled, coalesce((select begun from newest where under_way), 0) as interrupted,
        exists (select 1 from endpoint_places p
          where p.endpoint_id = d.endpoint_id and p.workspace_id = d.workspace_id) as has_slots,
        taken.slot, begun.number, begun.begun, begun.created_at as begun_at,
        w.sealed_secret, w.secret_hint, w.next_sealed_secret, w.next_secret_hint, w.rotates_at
      from deliveries d
      join webhook_endpoints w on w.id = d.endpoint_id and w.workspace_id = d.workspace_id
      join events e on e.id = d.event_id and e.workspace_id = d.workspace_id
      left join taken on true left join begun on true
      where d.id = ${request.deliveryId} and d.workspace_id = ${request.workspaceId}`,
  );
  return row;
}

const present = ({ workspaceId, deliveryId }: DeliveryRequest, row: Row): LoadedAndStarted => ({
  delivery: {
    id: deliveryId,
    workspaceId,
    status: row.status,
    attemptsBefore: row.attempts_before,
    nextAttemptInMs: row.next_attempt_in_ms ?? 0,
    interrupted: row.interrupted,
    endpointId: row.endpoint_id,
    isDisabled: row.disabled,
    url: row.url,
    secrets: {
      sealedSecret: row.sealed_secret,
      secretHint: row.secret_hint,
      nextSealedSecret: row.next_sealed_secret,
      nextSecretHint: row.next_secret_hint,
      rotatesAt: row.rotates_at,
    },
    eventId: row.event_id,
    eventType: row.type,
    body: row.body,
  },
  attempt: attemptIn(row),
});

const attemptIn = ({ slot, number, begun, begun_at: at }: Row): StartedAttempt | null =>
  slot === null || number === null || begun === null || at === null
    ? null
    : { slot, number, begun, at };

export const endpointSlotOf = (
  delivery: LoadedDelivery,
  { slot }: StartedAttempt,
): HeldEndpointSlot => ({
  workspaceId: delivery.workspaceId,
  deliveryId: delivery.id,
  endpointId: delivery.endpointId,
  slot,
});

/** Undoes an attempt that sent nothing and releases its slot, so that the next execution can start it. */
export async function undoAttempt(
  { orm }: ActivityDeps,
  delivery: LoadedDelivery,
  attempt: StartedAttempt,
): Promise<void> {
  const { number, begun } = attempt;
  const isNewest = sql`delivery_id = ${delivery.id} and workspace_id = ${delivery.workspaceId}
    and number = ${number} and under_way`;
  await query(
    orm.em.fork(),
    sql`with slot as (${releaseEndpointSlot(endpointSlotOf(delivery, attempt))}),
      first as (
        delete from delivery_attempts where ${isNewest} and begun = 1 and ${begun}::int = 1)
      update delivery_attempts set begun = begun - 1 where ${isNewest} and begun = ${begun} and begun > 1`,
  );
}
