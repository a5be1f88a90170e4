import { ask } from '../../db/ask.ts';
import { disableAfterMs } from '../../domain/endpoint-health.ts';
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
  const now = deps.now();
  const disabled = await ask(
    deps.orm.em.fork(),
    `update webhook_endpoints set disabled_at = $3, disabled_reason = 'failing'
     where id = $1 and workspace_id = $2 and disabled_at is null and failing_since <= $4 returning id`,
    [endpointId, workspaceId, now, new Date(now.getTime() - disableAfterMs)],
  );
  if (disabled.length > 0) {
    deps.log.warn(
      { endpoint: endpointId, workspace: workspaceId },
      'this webhook endpoint took nothing for five days: it is disabled until its owner enables it',
    );
  }
}

/** Ends a delivery whose endpoint was disabled meanwhile, without a request. It is failed, so that it can be replayed. */
export async function endUnsent(
  deps: ActivityDeps,
  { workspaceId, id }: LoadedDelivery,
): Promise<void> {
  await ask(
    deps.orm.em.fork(),
    `update deliveries set status = 'failed', next_attempt_at = null, error = 'endpoint_disabled'
     where id = $1 and workspace_id = $2 and status = 'pending'`,
    [id, workspaceId],
  );
}
