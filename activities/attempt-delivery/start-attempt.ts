import { sql } from 'kysely';
import type { DeliveryStatus } from '../../db/entities/webhooks.ts';
import { newId } from '../../db/new-id.ts';
import { query } from '../../db/query.ts';
import {
  longestWaitMs,
  mostInterrupted,
  slotsPerEndpoint,
  type BusyEndpoint,
  type StoredSecrets,
} from '../../domain/webhook-deliveries.ts';
import type { WebhookRequest } from '../../runtime/send-webhook.ts';
import type { ActivityDeps } from '../deps.ts';

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

type LoadedAndStarted = {
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
  const row = await readAndStart(deps, request);
  if (row?.status !== 'pending' || row.has_slots) {
    return row ? present(request, row) : null;
  }

  await createEndpointSlots(deps, {
    workspaceId: request.workspaceId,
    endpointId: row.endpoint_id,
  });
  const again = await readAndStart(deps, request);
  return again ? present(request, again) : null;
}

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

// Each row of `endpoint_places` is a slot: the right to one concurrent request to the endpoint, across all workers.

/** In seconds. Longer than any request, so a slot that is held longer belongs to a dead worker. */
const heldForS = 20;

/** SQL. A time beyond the longest wait was stored under a wrong clock: the attempt is due now. */
const isDue = sql`(d.next_attempt_at is null or d.next_attempt_at <= clock_timestamp()
  or d.next_attempt_at > clock_timestamp() + ${sql.lit(longestWaitMs)} * interval '1 millisecond')`;

/**
 * Reads a delivery and, if it is due and its endpoint has a free slot, starts its next attempt: stores it before its
 * request, and takes the slot. An attempt without a recorded end, probably of a dead worker, is started again under its
 * number, at most `mostInterrupted` times. SKIP LOCKED: an attempt that gets no slot does not wait.
 */
async function readAndStart(
  { orm }: ActivityDeps,
  { workspaceId, deliveryId }: DeliveryRequest,
): Promise<Row | undefined> {
  const [row] = await query<Row>(
    orm.em.fork(),
    sql`with newest as materialized (
        select number, begun, under_way from delivery_attempts
        where delivery_id = ${deliveryId} and workspace_id = ${workspaceId} order by number desc limit 1),
      due as (
        select d.endpoint_id from deliveries d join webhook_endpoints w on w.id = d.endpoint_id
        where d.id = ${deliveryId} and d.workspace_id = ${workspaceId} and w.workspace_id = ${workspaceId}
          and d.status = 'pending' and w.disabled_at is null and ${isDue}
          and not exists (select from newest where under_way and begun >= ${sql.lit(mostInterrupted)})),
      free as (
        select p.endpoint_id, p.place from endpoint_places p join due on due.endpoint_id = p.endpoint_id
        where p.workspace_id = ${workspaceId} and (p.taken_until is null or p.taken_until < clock_timestamp())
          and (p.rests_until is null or p.rests_until <= clock_timestamp())
        order by p.place limit 1 for update of p skip locked),
      taken as (
        update endpoint_places p set delivery_id = ${deliveryId},
          taken_until = clock_timestamp() + ${sql.lit(heldForS)} * interval '1 second'
        from free where p.endpoint_id = free.endpoint_id and p.place = free.place and p.workspace_id = ${workspaceId}
        returning p.place as slot),
      begun as (
        insert into delivery_attempts as a
          (id, workspace_id, delivery_id, number, created_at, duration_ms, error, under_way)
        select ${newId()}::uuid, ${workspaceId}::uuid, ${deliveryId}::uuid,
          coalesce((select case when under_way then number else number + 1 end from newest), 1),
          clock_timestamp(), 0, 'interrupted', true
        from taken
        on conflict (delivery_id, number) do update set begun = a.begun + 1, created_at = excluded.created_at
          where a.under_way
        returning number, begun, created_at)
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
      where d.id = ${deliveryId} and d.workspace_id = ${workspaceId}`,
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

type Endpoint = { readonly workspaceId: string; readonly endpointId: string };

/** Creates the slots of an endpoint before its first request. Safe to repeat and to run concurrently. */
async function createEndpointSlots(
  { orm }: ActivityDeps,
  { endpointId, workspaceId }: Endpoint,
): Promise<void> {
  await query(
    orm.em.fork(),
    sql`insert into endpoint_places (endpoint_id, place, workspace_id)
      select w.id, slot, w.workspace_id
      from webhook_endpoints w, generate_series(0, ${sql.lit(slotsPerEndpoint - 1)}) as slot
      where w.id = ${endpointId} and w.workspace_id = ${workspaceId} on conflict do nothing`,
  );
}

/** In milliseconds; see runtime/send-webhook.ts. */
export const longestRequestMs = 10_000;

/** SQL: counts the endpoints, across workspaces, with a slot that rests or rested within the last 30 seconds. */
export const hung = sql`select count(distinct endpoint_id)::int from endpoint_places
  where rests_until > clock_timestamp() - interval '30 seconds'`;

/**
 * Upper limit of the count, which takes time. With this many, each delivery already waits half an hour while its
 * endpoint times out.
 */
const mostCounted = 10_000;

/** Counts the deliveries that wait for an endpoint's slots, and measures how long these have been held. */
export async function loadEndpointBacklog(
  { orm }: ActivityDeps,
  { endpointId, workspaceId }: Endpoint,
): Promise<BusyEndpoint> {
  const [row] = await query<{ waiting: number; held_ms: number; hung: number }>(
    orm.em.fork(),
    sql`select
        (select count(*)::int from (
           select next_attempt_at from deliveries
           where endpoint_id = ${endpointId} and workspace_id = ${workspaceId} and status = 'pending'
           order by created_at desc, id desc limit ${sql.lit(mostCounted)}) as latest
         where next_attempt_at is null or next_attempt_at <= clock_timestamp()) as waiting,
        (select coalesce(max(greatest(
           case when taken_until > clock_timestamp()
             then ${sql.lit(heldForS * 1000)} - 1000 * extract(epoch from taken_until - clock_timestamp()) end,
           case when rests_until > clock_timestamp()
             then ${sql.lit(longestRequestMs)} + 1000 * extract(epoch from rests_until - clock_timestamp()) end)), 0)::int
         from endpoint_places where endpoint_id = ${endpointId} and workspace_id = ${workspaceId}) as held_ms,
        (${hung}) as hung`,
  );
  return { waiting: row?.waiting ?? 0, heldMs: row?.held_ms ?? 0, hung: row?.hung ?? 0 };
}
