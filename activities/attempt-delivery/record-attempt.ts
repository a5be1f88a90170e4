import { sleep } from '@temporalio/activity';
import { sql, type RawBuilder } from 'kysely';
import type { DeliveryStatus } from '../../db/entities/webhooks.ts';
import { query } from '../../db/query.ts';
import {
  deliveryWaitMs,
  disableAfterMs,
  restPerHungMs,
  retryAfterMs,
  type DeliveryError,
} from '../../domain/webhook-deliveries.ts';
import type { WebhookResult } from '../../runtime/send-webhook.ts';
import type { ActivityDeps } from '../deps.ts';
import {
  hung,
  longestRequestMs,
  type LoadedDelivery,
  type StartedAttempt,
} from './start-attempt.ts';

type AttemptOutcome =
  | { readonly status: 'delivered' | 'failed' | 'gone' }
  | { readonly status: 'pending'; readonly waitMs: number };

/**
 * Decides the next status of the delivery and stores it with the attempt's result.
 *
 * @param untilMs By `performance.now()`. Storing is repeated until then while the database fails or stalls, because
 * repeating the attempt would send the request again.
 * @throws the error of the last repetition, or CancelledFailure when the worker shuts down.
 */
export function recordAttempt(
  deps: ActivityDeps,
  delivery: LoadedDelivery,
  attempt: StartedAttempt,
  result: WebhookResult,
  untilMs: number,
): Promise<AttemptOutcome> {
  const nowMs = attempt.at.getTime() + result.durationMs;
  const next = nextStatus(result, attempt.number - delivery.attemptsBefore, nowMs);
  const store = (): Promise<AttemptOutcome> => storeResult(deps, delivery, attempt, result, next);
  return repeatUntil(untilMs, store);
}

type Next = { readonly status: DeliveryStatus; readonly waitMs: number | null };

/** @param number Number of the attempt within its round, from 1. */
function nextStatus({ error, retryAfter }: WebhookResult, number: number, nowMs: number): Next {
  if (error === null) {
    return { status: 'delivered', waitMs: null };
  }

  const askedMs = retryAfterMs(retryAfter, nowMs);
  const waitMs = deliveryWaitMs(number, { askedMs, random: Math.random() });
  return { status: waitMs === null ? 'failed' : 'pending', waitMs };
}

/**
 * A success always counts, also after a newer execution began the same attempt, or after the endpoint was disabled. A
 * failure counts only for the newest execution, and only while the delivery is pending. Nothing is stored for a deleted
 * delivery.
 *
 * Locks rows in the order endpoint, slot, delivery, attempt, as the deletion of an endpoint does.
 */
async function storeResult(
  deps: ActivityDeps,
  delivery: LoadedDelivery,
  attempt: StartedAttempt,
  { error, status: responseStatus, durationMs }: WebhookResult,
  { status, waitMs }: Next,
): Promise<AttemptOutcome> {
  const { id, workspaceId, endpointId } = delivery;
  const { number, begun, at } = attempt;
  const isDelivered = error === null;
  const isNewest = sql`d.status = 'pending' and a.begun = ${begun} and not exists (
    select from delivery_attempts later
    where later.delivery_id = d.id and later.workspace_id = ${workspaceId} and later.number > ${number})`;
  const [row] = await query<{ status: DeliveryStatus | null }>(
    deps.orm.em.fork(),
    sql`with endpoint as (
        update webhook_endpoints set failing_since = ${isDelivered ? sql`null` : sql`${at}::timestamptz`}
        where id = ${endpointId} and workspace_id = ${workspaceId}
          and failing_since is ${isDelivered ? sql`not null` : sql`null`} returning id),
      ${releaseEndpointSlotAfter(delivery, attempt, error)},
      delivery as (
        update deliveries d set status = ${status}, error = null,
          next_attempt_at = clock_timestamp() + ${waitMs}::int * interval '1 millisecond'
        from delivery_attempts a
        where d.id = ${id} and d.workspace_id = ${workspaceId} and (select count(*) from slot) >= 0
          and a.delivery_id = d.id and a.workspace_id = ${workspaceId} and a.number = ${number}
          and a.number > d.attempts_before ${isDelivered ? sql`` : sql`and ${isNewest}`}
        returning d.status),
      attempt as (
        update delivery_attempts
        set under_way = false, duration_ms = ${durationMs}, response_status = ${responseStatus}::int, error = ${error}::text
        where delivery_id = ${id} and workspace_id = ${workspaceId} and number = ${number}
          and (select count(*) from delivery) >= 0
          ${isDelivered ? sql`` : sql`and begun = ${begun} and error is not null`})
      select coalesce(
        (select status from delivery),
        (select status from deliveries where id = ${id} and workspace_id = ${workspaceId})) as status`,
  );
  const now = row?.status ?? 'gone';
  return now === 'pending' ? { status: now, waitMs: waitMs ?? 0 } : { status: now };
}

/** Wait between two repetitions, in milliseconds: the first and the longest. */
const [firstMs, longestMs] = [100, 5000];

/** @throws the error of the last repetition before `untilMs`; CancelledFailure at a shutdown. */
async function repeatUntil<T>(untilMs: number, work: () => Promise<T>): Promise<T> {
  for (let waitMs = firstMs; ; waitMs = Math.min(2 * waitMs, longestMs)) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() + waitMs > untilMs) {
        throw error;
      }
    }

    await sleep(waitMs);
  }
}

/**
 * Fails a delivery without another request; it can be replayed. Also closes an attempt that a dead worker left open, so
 * that the API shows it.
 */
export async function failUnsent(
  deps: ActivityDeps,
  { workspaceId, id }: LoadedDelivery,
  error: DeliveryError,
): Promise<void> {
  await query(
    deps.orm.em.fork(),
    sql`with delivery as (
        update deliveries set status = 'failed', next_attempt_at = null, error = ${error}
        where id = ${id} and workspace_id = ${workspaceId} and status = 'pending' returning id)
      update delivery_attempts a set under_way = false from delivery
      where a.delivery_id = delivery.id and a.workspace_id = ${workspaceId} and a.under_way`,
  );
}

/**
 * Disables an endpoint that accepted nothing for five days. Runs only when a delivery has used up its attempts, so one
 * failed request after days without events is not enough. Later events are stored as failed and can be replayed.
 */
export async function disableIfDead(
  deps: ActivityDeps,
  { workspaceId, endpointId }: LoadedDelivery,
): Promise<void> {
  const disabled = await query(
    deps.orm.em.fork(),
    sql`update webhook_endpoints set disabled_at = clock_timestamp(), disabled_reason = 'failing'
      where id = ${endpointId} and workspace_id = ${workspaceId} and disabled_at is null
        and failing_since <= clock_timestamp() - ${sql.lit(disableAfterMs)} * interval '1 millisecond' returning id`,
  );
  if (disabled.length > 0) {
    deps.log.warn(
      { endpoint: endpointId, workspace: workspaceId },
      'this webhook endpoint took nothing for five days: it is disabled until its owner enables it',
    );
  }
}

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
    sql`with slot as (${releaseEndpointSlot(delivery, attempt)}),
      first as (
        delete from delivery_attempts where ${isNewest} and begun = 1 and ${begun}::int = 1)
      update delivery_attempts set begun = begun - 1 where ${isNewest} and begun = ${begun} and begun > 1`,
  );
}

/** SQL: condition for the row of the attempt's slot, false once another delivery holds the slot. */
const isHeld = (
  { id, workspaceId, endpointId }: LoadedDelivery,
  { slot }: StartedAttempt,
): RawBuilder<unknown> =>
  sql`endpoint_id = ${endpointId} and place = ${slot} and delivery_id = ${id} and workspace_id = ${workspaceId}`;

/** SQL: releases the attempt's slot. */
export const releaseEndpointSlot = (
  delivery: LoadedDelivery,
  attempt: StartedAttempt,
): RawBuilder<unknown> =>
  sql`update endpoint_places set taken_until = null where ${isHeld(delivery, attempt)}`;

/**
 * SQL: `slot` and further parts of a statement's `with`, after part `endpoint`. Release the slot of a finished request.
 * After a timeout the slot rests, for longer the more endpoints time out. After any other result, no slot of the
 * endpoint rests any longer.
 */
function releaseEndpointSlotAfter(
  delivery: LoadedDelivery,
  attempt: StartedAttempt,
  error: DeliveryError | null,
): RawBuilder<unknown> {
  const { workspaceId, endpointId } = delivery;
  const restMs = sql`greatest((${hung}) * ${sql.lit(restPerHungMs)} - ${sql.lit(longestRequestMs)}, 0)`;
  const restsUntil =
    error === 'timeout' ? sql`clock_timestamp() + ${restMs} * interval '1 millisecond'` : sql`null`;
  const release = sql`slot as (
      update endpoint_places set taken_until = null, rests_until = ${restsUntil}
      where ${isHeld(delivery, attempt)} and (select count(*) from endpoint) >= 0 returning place)`;
  return error === 'timeout'
    ? release
    : sql`${release},
      resting as (
        select place from endpoint_places
        where endpoint_id = ${endpointId} and workspace_id = ${workspaceId} and place <> ${attempt.slot}
          and rests_until > clock_timestamp() for update skip locked),
      awake as (
        update endpoint_places p set rests_until = null from resting
        where p.endpoint_id = ${endpointId} and p.workspace_id = ${workspaceId} and p.place = resting.place)`;
}
