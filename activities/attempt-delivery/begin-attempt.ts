import { ask } from '../../db/ask.ts';
import { longestWaitMs, mostInterrupted } from '../../domain/webhook-deliveries.ts';
import type { ActivityDeps } from '../deps.ts';
import type { LoadedDelivery } from './load-delivery.ts';
import { leavePlace, takePlace } from './places.ts';

/** An attempt that is written down, and may be made. */
export type BegunAttempt = {
  /** Of the endpoint. */
  readonly place: number;
  readonly number: number;
  /** More than 1 when earlier tries began the same attempt and died over it. */
  readonly begun: number;
  /** By the database's clock. */
  readonly at: Date;
};

/** A time so far ahead was written by a clock that was wrong, and nobody waits for it. */
const isDue = `(d.next_attempt_at is null or d.next_attempt_at <= clock_timestamp()
  or d.next_attempt_at > clock_timestamp() + interval '${longestWaitMs} milliseconds')`;

/**
 * Part of a statement: begins the next attempt of delivery $1 in workspace $2, if its time has come and its endpoint has
 * a free place: what cannot be written down is not sent. $3 is an id. An attempt of which no end is known is begun once
 * more under its number, as a worker may have died over it; that was no attempt, but it is not repeated without end.
 */
export const beginAttempt = `newest as materialized (
    select number, begun, under_way from delivery_attempts
    where delivery_id = $1 and workspace_id = $2 order by number desc limit 1),
  due as (
    select d.endpoint_id from deliveries d join webhook_endpoints w on w.id = d.endpoint_id
    where d.id = $1 and d.workspace_id = $2 and w.workspace_id = $2 and d.status = 'pending'
      and w.disabled_at is null and ${isDue}
      and not exists (select from newest where under_way and begun >= ${mostInterrupted})),
  ${takePlace},
  begun as (
    insert into delivery_attempts as a
      (id, workspace_id, delivery_id, number, created_at, duration_ms, error, under_way)
    select $3::uuid, $2, $1,
      coalesce((select case when under_way then number else number + 1 end from newest), 1),
      clock_timestamp(), 0, 'interrupted', true
    from taken
    on conflict (delivery_id, number) do update set begun = a.begun + 1, created_at = excluded.created_at
      where a.under_way
    returning number, begun, created_at)`;

/** Takes back an attempt of which nothing was sent, and its place: nothing keeps them from the next try. */
export async function takeBack(
  { orm }: ActivityDeps,
  { id, endpointId, workspaceId }: LoadedDelivery,
  { place, number, begun }: BegunAttempt,
): Promise<void> {
  await ask(
    orm.em.fork(),
    `with place as (${leavePlace}),
     first as (
       delete from delivery_attempts
       where delivery_id = $1 and workspace_id = $4 and number = $5 and under_way and begun = 1 and $6::int = 1)
     update delivery_attempts set begun = begun - 1
     where delivery_id = $1 and workspace_id = $4 and number = $5 and under_way and begun = $6 and begun > 1`,
    [id, endpointId, place, workspaceId, number, begun],
  );
}
