import { ask } from '../../db/ask.ts';
import type { DeliveryStatus } from '../../db/entities/delivery.ts';
import { deliveryWaitMs, retryAfterMs } from '../../domain/webhook-deliveries.ts';
import type { WebhookResult } from '../../runtime/webhook-request.ts';
import type { ActivityDeps } from '../deps.ts';
import type { BegunAttempt } from './begin-attempt.ts';
import type { LoadedDelivery } from './load-delivery.ts';
import { leavePlaceAfter } from './places.ts';

export type AttemptOutcome =
  | { readonly status: 'delivered' | 'failed' | 'gone' }
  | { readonly status: 'pending'; readonly waitMs: number };

/**
 * Decides what follows from an attempt.
 *
 * @returns what writes that down, and is safe to repeat.
 */
export function attemptRecorder(
  deps: ActivityDeps,
  delivery: LoadedDelivery,
  begun: BegunAttempt,
  result: WebhookResult,
): () => Promise<AttemptOutcome> {
  const nowMs = begun.at.getTime() + result.durationMs;
  const { status, waitMs } = follows(result, begun.number - delivery.attemptsBefore, nowMs);
  return async () => {
    const [row] = await ask<{ status: DeliveryStatus | null }>(deps.orm.em.fork(), statement, [
      delivery.id,
      delivery.endpointId,
      begun.place,
      delivery.workspaceId,
      status,
      waitMs,
      begun.number,
      begun.begun,
      begun.at,
      result.durationMs,
      result.status,
      result.error,
    ]);
    const now = row?.status ?? 'gone';
    return now === 'pending' ? { status: now, waitMs: waitMs ?? 0 } : { status: now };
  };
}

/** @param number Of the attempt within its round, from 1. */
function follows(
  { error, retryAfter }: WebhookResult,
  number: number,
  nowMs: number,
): { readonly status: DeliveryStatus; readonly waitMs: number | null } {
  if (error === null) {
    return { status: 'delivered', waitMs: null };
  }

  const askedMs = retryAfterMs(retryAfter, nowMs);
  const waitMs = deliveryWaitMs(number, { askedMs, random: Math.random() });
  return { status: waitMs === null ? 'failed' : 'pending', waitMs };
}

/**
 * What the receiver has taken is delivered, however long its answer was on the way to us: also when another try began
 * the same attempt meanwhile, or its endpoint was disabled. A failure counts for the try that began last alone, and only
 * while the delivery is pending. Of a deleted delivery nothing is left to write.
 *
 * Rows are locked in the order endpoint, place, delivery, attempt, as the deletion of an endpoint locks them.
 */
const statement = `with endpoint as (
    update webhook_endpoints set failing_since = case when $12::text is null then null else $9::timestamptz end
    where id = $2 and workspace_id = $4 and (failing_since is null) <> ($12::text is null) returning id),
  ${leavePlaceAfter},
  delivery as (
    update deliveries d set status = $5, next_attempt_at = clock_timestamp() + $6::int * interval '1 millisecond', error = null
    from delivery_attempts a
    where d.id = $1 and d.workspace_id = $4 and (select count(*) from place) >= 0
      and a.delivery_id = d.id and a.workspace_id = $4 and a.number = $7 and a.number > d.attempts_before
      and ($12::text is null or (d.status = 'pending' and a.begun = $8 and not exists (
        select from delivery_attempts later
        where later.delivery_id = d.id and later.workspace_id = $4 and later.number > $7)))
    returning d.status),
  attempt as (
    update delivery_attempts set under_way = false, duration_ms = $10, response_status = $11::int, error = $12
    where delivery_id = $1 and workspace_id = $4 and number = $7 and (select count(*) from delivery) >= 0
      and ($12::text is null or (begun = $8 and error is not null)))
  select coalesce(
    (select status from delivery), (select status from deliveries where id = $1 and workspace_id = $4)) as status`;
