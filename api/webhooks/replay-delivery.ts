import type { DeliveryToSync } from '../../temporal/sync-delivery.ts';
import { AppError } from '../../domain/errors.ts';
import type { ApiDeps } from '../deps.ts';
import { beginRound } from './begin-round.ts';
import type { DeliveryView } from './delivery-view.ts';
import { loadDelivery } from './load-deliveries.ts';
import { mustBeEnabled } from './load-endpoints.ts';

/**
 * Sends the event of a delivery once more, the same bytes under the same event id: a new round of six attempts.
 * It is committed before Temporal hears of it; what Temporal does not hear, the relay repeats.
 *
 * @throws AppError `not_found`, `webhook_disabled`, or `delivery_not_final` while it is still being tried.
 */
export async function replayDelivery(
  deps: ApiDeps,
  workspaceId: string,
  endpointId: string,
  id: string,
): Promise<DeliveryView> {
  const { delivery, begun } = await deps.orm.em.fork().transactional(async (em) => {
    const before = await loadDelivery(em, workspaceId, endpointId, id);
    if (before.status !== 'pending') {
      await mustBeEnabled(em, workspaceId, endpointId);
    }

    const rounds: DeliveryToSync[] = await beginRound(em, workspaceId, {
      which: `endpoint_id = ? and id = ? and status in ('delivered', 'failed')`,
      values: [endpointId, id],
    });
    return { begun: rounds, delivery: await loadDelivery(em, workspaceId, endpointId, id) };
  });
  if (begun.length === 0) {
    const message = 'This delivery is still being tried. It can be replayed when that has ended.';
    throw new AppError('delivery_not_final', message);
  }

  begun.forEach(deps.syncDelivery);
  return delivery;
}
