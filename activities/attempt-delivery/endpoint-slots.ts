import { sql, type RawBuilder } from 'kysely';
import { query } from '../../db/query.ts';
import {
  restPerHungMs,
  slotsPerEndpoint,
  type BusyEndpoint,
  type DeliveryError,
} from '../../domain/webhook-deliveries.ts';
import type { ActivityDeps } from '../deps.ts';

// Each row of `endpoint_places` is a slot: the right to one concurrent request to the endpoint, across all workers.

/** In seconds. Longer than any request, so a slot that is held longer belongs to a dead worker. */
const heldForS = 20;

/** A slot that a delivery holds. */
export type HeldEndpointSlot = {
  readonly workspaceId: string;
  readonly deliveryId: string;
  readonly endpointId: string;
  readonly slot: number;
};

/**
 * SQL: `free` and `taken` of a statement's `with`. Take a slot of the endpoint in `due`. SKIP LOCKED: an attempt that
 * gets no slot does not wait.
 */
export const takeEndpointSlot = (workspaceId: string, deliveryId: string): RawBuilder<unknown> =>
  sql`free as (
      select p.endpoint_id, p.place from endpoint_places p join due on due.endpoint_id = p.endpoint_id
      where p.workspace_id = ${workspaceId} and (p.taken_until is null or p.taken_until < clock_timestamp())
        and (p.rests_until is null or p.rests_until <= clock_timestamp())
      order by p.place limit 1 for update of p skip locked),
    taken as (
      update endpoint_places p set delivery_id = ${deliveryId},
        taken_until = clock_timestamp() + ${sql.lit(heldForS)} * interval '1 second'
      from free where p.endpoint_id = free.endpoint_id and p.place = free.place and p.workspace_id = ${workspaceId}
      returning p.place as slot)`;

/** SQL: condition for the slot's row, false once another delivery holds the slot. */
const isHeld = ({
  workspaceId,
  deliveryId,
  endpointId,
  slot,
}: HeldEndpointSlot): RawBuilder<unknown> =>
  sql`endpoint_id = ${endpointId} and place = ${slot} and delivery_id = ${deliveryId} and workspace_id = ${workspaceId}`;

/** SQL: releases a slot. */
export const releaseEndpointSlot = (held: HeldEndpointSlot): RawBuilder<unknown> =>
  sql`update endpoint_places set taken_until = null where ${isHeld(held)}`;

/** In milliseconds; see runtime/send-webhook.ts. */
const longestRequestMs = 10_000;

/** SQL: counts the endpoints, across workspaces, with a slot that rests or rested within the last 30 seconds. */
const hung = sql`select count(distinct endpoint_id)::int from endpoint_places
  where rests_until > clock_timestamp() - interval '30 seconds'`;

/**
 * SQL: `slot` and further parts of a statement's `with`, after part `endpoint`. Release the slot of a finished request.
 * After a timeout the slot rests, for longer the more endpoints time out. After any other result, no slot of the
 * endpoint rests any longer.
 */
export function releaseEndpointSlotAfter(
  held: HeldEndpointSlot,
  error: DeliveryError | null,
): RawBuilder<unknown> {
  const { workspaceId, endpointId, slot } = held;
  const restMs = sql`greatest((${hung}) * ${sql.lit(restPerHungMs)} - ${sql.lit(longestRequestMs)}, 0)`;
  const restsUntil =
    error === 'timeout' ? sql`clock_timestamp() + ${restMs} * interval '1 millisecond'` : sql`null`;
  const release = sql`slot as (
      update endpoint_places set taken_until = null, rests_until = ${restsUntil}
      where ${isHeld(held)} and (select count(*) from endpoint) >= 0 returning place)`;
  return error === 'timeout'
    ? release
    : sql`${release},
      resting as (
        select place from endpoint_places
        where endpoint_id = ${endpointId} and workspace_id = ${workspaceId} and place <> ${slot}
          and rests_until > clock_timestamp() for update skip locked),
      awake as (
        update endpoint_places p set rests_until = null from resting
        where p.endpoint_id = ${endpointId} and p.workspace_id = ${workspaceId} and p.place = resting.place)`;
}

/**
 * Upper limit of the count, which takes time. With this many, each delivery already waits half an hour while its
 * endpoint times out.
 */
const mostCounted = 10_000;

type Endpoint = { readonly workspaceId: string; readonly endpointId: string };

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

/** Creates the slots of an endpoint before its first request. Safe to repeat and to run concurrently. */
export async function createEndpointSlots(
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
