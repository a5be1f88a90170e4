import { ask } from '../../db/ask.ts';
import { type DeliveryError, disableAfterMs } from '../../domain/webhook-deliveries.ts';
import type { ActivityDeps } from '../deps.ts';
import type { LoadedDelivery } from './load-delivery.ts';

/**
 * Disables an endpoint that has taken nothing for five days. Called when a delivery has failed for good, so one bad
 * request after days of silence is not enough. Events from then on count as failed, and can be replayed.
 */
export async function disableIfDead(
  deps: ActivityDeps,
  { workspaceId, endpointId }: LoadedDelivery,
): Promise<void> {
  const disabled = await ask(
    deps.orm.em.fork(),
    `update webhook_endpoints set disabled_at = clock_timestamp(), disabled_reason = 'failing'
     where id = $1 and workspace_id = $2 and disabled_at is null
       and failing_since <= clock_timestamp() - $3 * interval '1 millisecond' returning id`,
    [endpointId, workspaceId, disableAfterMs],
  );
  if (disabled.length > 0) {
    deps.log.warn(
      { endpoint: endpointId, workspace: workspaceId },
      'this webhook endpoint took nothing for five days: it is disabled until its owner enables it',
    );
  }
}

/**
 * Ends a delivery without another request. It is failed, so that it can be replayed. An attempt that a worker died over
 * is shown from then on, as nobody goes on with it.
 */
export async function endUnsent(
  deps: ActivityDeps,
  { workspaceId, id }: LoadedDelivery,
  error: DeliveryError,
): Promise<void> {
  await ask(
    deps.orm.em.fork(),
    `with delivery as (
       update deliveries set status = 'failed', next_attempt_at = null, error = $3
       where id = $1 and workspace_id = $2 and status = 'pending' returning id)
     update delivery_attempts a set under_way = false from delivery
     where a.delivery_id = delivery.id and a.workspace_id = $2 and a.under_way`,
    [id, workspaceId, error],
  );
}
