import { newId } from '../../db/new-id.ts';
import { deliveryWaitMs } from '../../domain/retry-delays.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PendingDelivery } from './load-delivery.ts';
import type { SendResult } from './send-event.ts';

export type AttemptOutcome =
  | { readonly status: 'delivered' | 'failed' }
  | { readonly status: 'pending'; readonly waitMs: number };

/** Writes the attempt down and what follows from it, in one transaction. */
export async function recordAttempt(
  deps: ActivityDeps,
  delivery: PendingDelivery,
  at: Date,
  result: SendResult,
): Promise<AttemptOutcome> {
  const number = delivery.attemptsMade + 1;
  const outcome = outcomeOf(result, number);
  const nextAttemptAt =
    outcome.status === 'pending' ? new Date(deps.now().getTime() + outcome.waitMs) : null;
  await deps.orm.em.fork().transactional(async (em) => {
    await em.execute(
      `insert into delivery_attempts (id, workspace_id, delivery_id, number, created_at, duration_ms, response_status, error)
       values (?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        newId(),
        delivery.workspaceId,
        delivery.id,
        number,
        at,
        result.durationMs,
        result.status,
        result.error,
      ],
    );
    await em.execute(
      'update deliveries set status = ?, next_attempt_at = ? where id = ? and workspace_id = ?',
      [outcome.status, nextAttemptAt, delivery.id, delivery.workspaceId],
    );
  });
  return outcome;
}

function outcomeOf(result: SendResult, number: number): AttemptOutcome {
  if (result.error === null) {
    return { status: 'delivered' };
  }

  const waitMs = deliveryWaitMs(number);
  return waitMs === null ? { status: 'failed' } : { status: 'pending', waitMs };
}
