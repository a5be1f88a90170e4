import type { DeliveryStatus } from '../../db/entities/delivery.ts';
import type { Em } from '../../db/orm.ts';
import type { EventType } from '../../domain/post-status.ts';
import { encodeCursor, readCursor } from '../http/cursor.ts';
import type { DeliveryView } from './delivery-view.ts';
import { loadDeliveries } from './load-deliveries.ts';
import { mustExist } from './load-endpoints.ts';

/** Of a page, when the caller names no other number, and at most. */
export const maxPage = 100;

/** Checked against the route's schemas. */
export type DeliveriesQuery = {
  readonly status?: DeliveryStatus;
  readonly event_type?: EventType;
  readonly limit?: number;
  readonly cursor?: string;
};

/**
 * A page of an endpoint's deliveries, newest first.
 *
 * @throws AppError `not_found`, or `invalid_request` for a cursor that no page gave.
 */
export async function listDeliveries(
  em: Em,
  workspaceId: string,
  endpointId: string,
  { status, event_type: eventType, limit = maxPage, cursor }: DeliveriesQuery,
): Promise<{ deliveries: DeliveryView[]; next_cursor: string | null }> {
  await mustExist(em, workspaceId, endpointId);
  const after = readCursor(cursor);
  // One more than asked for tells whether there is a next page.
  const filter = { status, eventType, after, limit: limit + 1 };
  const found = await loadDeliveries(em, workspaceId, endpointId, filter);
  const deliveries = found.slice(0, limit);
  const last = found.length > limit ? deliveries.at(-1) : undefined;
  return {
    deliveries,
    next_cursor: last ? encodeCursor({ createdAt: new Date(last.created_at), id: last.id }) : null,
  };
}
