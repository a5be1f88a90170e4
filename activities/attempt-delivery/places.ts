import { ask } from '../../db/ask.ts';
import {
  type BusyEndpoint,
  slotsPerEndpoint,
  restPerHungMs,
} from '../../domain/webhook-deliveries.ts';
import type { ActivityDeps } from '../deps.ts';
import type { LoadedDelivery } from './load-delivery.ts';

/** How long a place is held without a word, in seconds: above what a request may take, as then its worker is dead. */
const heldForS = 20;

/**
 * Part of a statement: takes a place of the endpoint in `due` for delivery $1 in workspace $2. Places are rows that
 * nobody waits for, so whoever finds all of them taken hears so at once.
 */
export const takePlace = `free as (
    select p.endpoint_id, p.place from endpoint_places p join due on due.endpoint_id = p.endpoint_id
    where p.workspace_id = $2 and (p.taken_until is null or p.taken_until < clock_timestamp())
      and (p.rests_until is null or p.rests_until <= clock_timestamp())
    order by p.place limit 1 for update of p skip locked),
  taken as (
    update endpoint_places p set delivery_id = $1, taken_until = clock_timestamp() + interval '${heldForS} seconds'
    from free where p.endpoint_id = free.endpoint_id and p.place = free.place and p.workspace_id = $2
    returning p.place)`;

/** Part of a statement: gives back place $3 of endpoint $2 that delivery $1 holds, unless somebody else holds it now. */
export const leavePlace = `update endpoint_places set taken_until = null
  where endpoint_id = $2 and place = $3 and delivery_id = $1 and workspace_id = $4`;

/** In milliseconds; see runtime/webhook-request.ts. */
const longestRequestMs = 10_000;

/** Counts the endpoints, of all workspaces, where a request without an answer ended lately or its place rests. */
const hung = `select count(distinct endpoint_id)::int from endpoint_places
  where rests_until > clock_timestamp() - interval '30 seconds'`;

/**
 * Part of a statement: the same after a request that ended with the error $12. Without an answer the place rests, the
 * longer the more endpoints hang; with one, no place of this endpoint rests any longer.
 */
export const leavePlaceAfter = `place as (
    update endpoint_places set taken_until = null, rests_until = case when $12 = 'timeout' then
      clock_timestamp() + greatest((${hung}) * ${restPerHungMs} - ${longestRequestMs}, 0) * interval '1 millisecond' end
    where endpoint_id = $2 and place = $3 and delivery_id = $1 and workspace_id = $4
      and (select count(*) from endpoint) >= 0 returning place),
  resting as (
    select place from endpoint_places where endpoint_id = $2 and workspace_id = $4 and place <> $3
      and rests_until > clock_timestamp() and $12::text is distinct from 'timeout' for update skip locked),
  awake as (
    update endpoint_places p set rests_until = null from resting
    where p.endpoint_id = $2 and p.workspace_id = $4 and p.place = resting.place)`;

/** So many look once in half an hour while their endpoint hangs; more need not be counted, which takes time. */
const mostCounted = 10_000;

/** Looks at who waits for an endpoint's places, and for how long they have been held. */
export async function howBusy(
  { orm }: ActivityDeps,
  { endpointId, workspaceId }: LoadedDelivery,
): Promise<BusyEndpoint> {
  const [row] = await ask<{ waiting: number; held_ms: number; hung: number }>(
    orm.em.fork(),
    `select
       (select count(*)::int from (
          select next_attempt_at from deliveries
          where endpoint_id = $1 and workspace_id = $2 and status = 'pending'
          order by created_at desc, id desc limit ${mostCounted}) as latest
        where next_attempt_at is null or next_attempt_at <= clock_timestamp()) as waiting,
       (select coalesce(max(greatest(
          case when taken_until > clock_timestamp()
            then ${heldForS * 1000} - 1000 * extract(epoch from taken_until - clock_timestamp()) end,
          case when rests_until > clock_timestamp()
            then ${longestRequestMs} + 1000 * extract(epoch from rests_until - clock_timestamp()) end)), 0)::int
        from endpoint_places where endpoint_id = $1 and workspace_id = $2) as held_ms,
       (${hung}) as hung`,
    [endpointId, workspaceId],
  );
  return { waiting: row?.waiting ?? 0, heldMs: row?.held_ms ?? 0, hung: row?.hung ?? 0 };
}

/** Gives back the place of an attempt without an end. Left out, it is free after a while all the same. */
export async function giveBack(
  { orm }: ActivityDeps,
  { id, endpointId, workspaceId }: LoadedDelivery,
  place: number,
): Promise<void> {
  await ask(orm.em.fork(), leavePlace, [id, endpointId, place, workspaceId]);
}

/** Makes the places of an endpoint that was never sent anything. Safe to repeat, and side by side. */
export async function makePlaces(
  deps: ActivityDeps,
  workspaceId: string,
  endpointId: string,
): Promise<void> {
  await ask(
    deps.orm.em.fork(),
    `insert into endpoint_places (endpoint_id, place, workspace_id)
     select w.id, place, w.workspace_id from webhook_endpoints w, generate_series(0, $3::int - 1) as place
     where w.id = $1 and w.workspace_id = $2 on conflict do nothing`,
    [endpointId, workspaceId, slotsPerEndpoint],
  );
}
