import { WebhookEndpoint } from '../../db/entities/webhook-endpoint.ts';
import type { ApiDeps } from '../deps.ts';
import { unknownEndpoint } from './load-endpoints.ts';

/**
 * Removes an endpoint with its deliveries and their attempts. What waits in Temporal for a next attempt is left
 * alone: it holds nothing but a timer, finds no delivery when that ends (within 6 hours), and is over. To tell it
 * now would be one message per delivery, without an outbox to repeat a lost one, for nothing that anybody notices.
 *
 * @throws AppError `not_found`
 */
export async function deleteEndpoint(
  deps: ApiDeps,
  workspaceId: string,
  id: string,
): Promise<void> {
  if ((await deps.orm.em.fork().nativeDelete(WebhookEndpoint, { id, workspaceId })) === 0) {
    throw unknownEndpoint(id);
  }
}
