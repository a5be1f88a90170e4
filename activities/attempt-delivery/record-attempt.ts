import { sql } from 'kysely';
import type { DeliveryStatus } from '../../db/entities/webhooks.ts';
import { newId } from '../../db/new-id.ts';
import { query } from '../../db/query.ts';
import {
  deliveryWaitMs,
  disableAfterMs,
  retryAfterMs,
  type DeliveryError,
} from '../../domain/webhook-deliveries.ts';
import type { WebhookResult } from '../../runtime/send-webhook.ts';
import type { ActivityDeps } from '../deps.ts';
import { repeatUntil } from '../repeat-until.ts';
import type { LoadedDelivery } from './load-delivery.ts';

type AttemptOutcome =
  | { readonly status: 'delivered' | 'failed' | 'gone' }
  | { readonly status: 'pending'; readonly waitMs: number };

/** Decides the next status of the delivery and stores it with the attempt's result. @param untilMs Of `repeatUntil`. */
export function recordAttempt(
  deps: ActivityDeps,
  delivery: LoadedDelivery,
  result: WebhookResult,
  untilMs: number,
): Promise<AttemptOutcome> {
  const nowMs = delivery.at.getTime() + result.durationMs;
  const next = nextStatus(result, delivery.number - delivery.attemptsBefore, nowMs);
  return repeatUntil(untilMs, () => storeResult(deps, delivery, result, next));
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
 * A success always counts, also after another execution of the attempt failed, or after the endpoint was disabled. A
 * failure counts only if no other execution has stored the attempt, and only while the delivery is pending.
 *
 * Locks rows in the order endpoint, delivery, attempt, as the deletion of an endpoint does.
 */
async function storeResult(
  deps: ActivityDeps,
  { id, workspaceId, endpointId, number, at }: LoadedDelivery,
  { error, status: responseStatus, durationMs }: WebhookResult,
  { status, waitMs }: Next,
): Promise<AttemptOutcome> {
  const isDelivered = error === null;
  const isFirst = sql`d.status = 'pending' and not exists (
    select from delivery_attempts stored
    where stored.delivery_id = d.id and stored.workspace_id = ${workspaceId} and stored.number >= ${number})`;
  const [row] = await query<{ status: DeliveryStatus | null }>(
    deps.orm.em.fork(),
    sql`with endpoint as (
        update webhook_endpoints set failing_since = ${isDelivered ? sql`null` : sql`${at}::timestamptz`}
        where id = ${endpointId} and workspace_id = ${workspaceId}
          and failing_since is ${isDelivered ? sql`not null` : sql`null`} returning id),
      delivery as (
        update deliveries d set status = ${status}, error = null,
          next_attempt_at = clock_timestamp() + ${waitMs}::int * interval '1 millisecond'
        where d.id = ${id} and d.workspace_id = ${workspaceId} and (select count(*) from endpoint) >= 0
          and ${number}::int > d.attempts_before ${isDelivered ? sql`` : sql`and ${isFirst}`}
        returning d.status),
      attempt as (
        insert into delivery_attempts
          (id, workspace_id, delivery_id, number, created_at, duration_ms, response_status, error)
        select ${newId()}::uuid, d.workspace_id, d.id, ${number}::int, ${at}::timestamptz, ${durationMs}::int,
          ${responseStatus}::int, ${error}::text
        from deliveries d
        where d.id = ${id} and d.workspace_id = ${workspaceId} and (select count(*) from delivery) >= 0
        on conflict (delivery_id, number) do ${
          isDelivered
            ? sql`update set duration_ms = excluded.duration_ms, response_status = excluded.response_status, error = null`
            : sql`nothing`
        })
      select coalesce(
        (select status from delivery),
        (select status from deliveries where id = ${id} and workspace_id = ${workspaceId})) as status`,
  );
  const now = row?.status ?? 'gone';
  return now === 'pending' ? { status: now, waitMs: waitMs ?? 0 } : { status: now };
}

export async function failUnsent(
  deps: ActivityDeps,
  { workspaceId, id }: LoadedDelivery,
  error: DeliveryError,
): Promise<void> {
  await query(
    deps.orm.em.fork(),
    sql`update deliveries set status = 'failed', next_attempt_at = null, error = ${error}
      where id = ${id} and workspace_id = ${workspaceId} and status = 'pending'`,
  );
}

/**
 * Disables an endpoint that accepted nothing for five days. Call it when a delivery has used up its attempts: one failed
 * request after days without events is not enough.
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
