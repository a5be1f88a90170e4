import { newId } from '../../db/new-id.ts';
import { deliveryWaitMs } from '../../domain/retry-delays.ts';
import type { WebhookResult } from '../../runtime/webhook-request.ts';
import type { ActivityDeps } from '../deps.ts';
import type { LoadedDelivery } from './load-delivery.ts';

export type AttemptOutcome =
  | { readonly status: 'delivered' | 'failed' | 'gone' }
  | { readonly status: 'pending'; readonly waitMs: number };

/** Writes the attempt down and what follows from it, in one transaction. Of a deleted delivery nothing is left to write. */
export async function recordAttempt(
  deps: ActivityDeps,
  delivery: LoadedDelivery,
  at: Date,
  result: WebhookResult,
): Promise<AttemptOutcome> {
  const { id, workspaceId, attemptsMade, attemptsBefore } = delivery;
  const number = attemptsMade + 1;
  const outcome = outcomeOf(result, number - attemptsBefore);
  const nextAttemptAt =
    outcome.status === 'pending' ? new Date(deps.now().getTime() + outcome.waitMs) : null;
  return deps.orm.em.fork().transactional(async (em): Promise<AttemptOutcome> => {
    const updated = await em.execute<unknown[]>(
      `update deliveries set status = ?, next_attempt_at = ? where id = ? and workspace_id = ? returning id`,
      [outcome.status, nextAttemptAt, id, workspaceId],
    );
    if (updated.length === 0) {
      return { status: 'gone' };
    }

    // Numbers are unique: of two that made the same attempt, the second fails here and takes back its update.
    await em.execute(
      `insert into delivery_attempts (id, workspace_id, delivery_id, number, created_at, duration_ms, response_status, error)
       values (?, ?, ?, ?, ?, ?, ?, ?)`,
      [newId(), workspaceId, id, number, at, result.durationMs, result.status, result.error],
    );
    return outcome;
  });
}

/** @param number Of the attempt within its round, from 1. */
function outcomeOf(result: WebhookResult, number: number): AttemptOutcome {
  if (result.error === null) {
    return { status: 'delivered' };
  }

  const waitMs = deliveryWaitMs(number);
  return waitMs === null ? { status: 'failed' } : { status: 'pending', waitMs };
}
