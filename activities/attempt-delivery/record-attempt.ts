import { ask } from '../../db/ask.ts';
import { newId } from '../../db/new-id.ts';
import { deliveryWaitMs, retryAfterMs } from '../../domain/delivery-waits.ts';
import type { WebhookResult } from '../../runtime/webhook-request.ts';
import type { ActivityDeps } from '../deps.ts';
import type { LoadedDelivery } from './load-delivery.ts';
import { leavePlace } from './places.ts';

export type AttemptOutcome =
  | { readonly status: 'delivered' | 'failed' | 'gone' }
  | { readonly status: 'pending'; readonly waitMs: number };

/**
 * Writes the attempt down and what follows from it, in one statement. Of a deleted delivery nothing is left to write.
 *
 * The endpoint is locked before its delivery, as its deletion locks them. Numbers are unique: of two that made the same attempt, the second fails here, and with it all that it would write.
 */
export async function recordAttempt(
  deps: ActivityDeps,
  delivery: LoadedDelivery,
  at: Date,
  result: WebhookResult,
): Promise<AttemptOutcome> {
  const { id, workspaceId, endpointId, place, attemptsMade, attemptsBefore } = delivery;
  const number = attemptsMade + 1;
  const now = deps.now();
  const outcome = outcomeOf(result, number - attemptsBefore, now.getTime());
  const nextAt = outcome.status === 'pending' ? new Date(now.getTime() + outcome.waitMs) : null;
  const updated = await ask(
    deps.orm.em.fork(),
    `with endpoint as (
       update webhook_endpoints set failing_since = case when $12::text is null then null else $9::timestamptz end
       where id = $2 and workspace_id = $4 and (failing_since is null) <> ($12::text is null) returning id),
     delivery as (
       update deliveries set status = $5, next_attempt_at = $6
       where id = $1 and workspace_id = $4 and (select count(*) from endpoint) >= 0 returning id),
     attempt as (
       insert into delivery_attempts (id, workspace_id, delivery_id, number, created_at, duration_ms, response_status, error)
       select $7::uuid, $4, id, $8::int, $9, $10::int, $11::int, $12 from delivery),
     place as (${leavePlace})
     select id from delivery`,
    [
      id,
      endpointId,
      place,
      workspaceId,
      outcome.status,
      nextAt,
      newId(),
      number,
      at,
      result.durationMs,
      result.status,
      result.error,
    ],
  );
  return updated.length === 0 ? { status: 'gone' } : outcome;
}

/** @param number Of the attempt within its round, from 1. */
function outcomeOf(
  { error, retryAfter }: WebhookResult,
  number: number,
  nowMs: number,
): Exclude<AttemptOutcome, { status: 'gone' }> {
  if (error === null) {
    return { status: 'delivered' };
  }

  const askedMs = retryAfterMs(retryAfter, nowMs);
  const waitMs = deliveryWaitMs(number, { askedMs, random: Math.random() });
  return waitMs === null ? { status: 'failed' } : { status: 'pending', waitMs };
}
