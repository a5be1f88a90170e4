import { WebhookEndpoint } from '../../db/entities/webhook-endpoint.ts';
import type { ApiDeps } from '../deps.ts';
import { unknownEndpoint } from './load-endpoints.ts';

/**
 * Removes an endpoint with its deliveries and their attempts. What waits in Temporal for a next attempt is left
 * alone: it holds nothing but a timer, finds no delivery when that ends (within 6 hours), and is over. To tell it
 * now would be one message per delivery, without an outbox to repeat a lost one, for nothing that anybody notices.
 *
 * Its places go before its deliveries, as an attempt that begins takes a place and then writes itself to its delivery.
 *
 * @throws AppError `not_found`
 */
export async function deleteEndpoint(
  deps: ApiDeps,
  workspaceId: string,
  id: string,
): Promise<void> {
  await deps.orm.em.fork().transactional(async (em) => {
    const lock = 'select id from webhook_endpoints where id = ? and workspace_id = ? for update';
    if ((await em.execute<unknown[]>(lock, [id, workspaceId])).length === 0) {
      throw unknownEndpoint(id);
    }

    const places = 'delete from endpoint_places where endpoint_id = ? and workspace_id = ?';
    await em.execute(places, [id, workspaceId]);
    await em.nativeDelete(WebhookEndpoint, { id, workspaceId });
  });
}
