import { selectDeliveries, type DeliveryFilter, type DeliveryRow } from '../../db/delivery-list.ts';
import type { Em } from '../../db/orm.ts';
import { findEndpoint } from '../../db/repositories/endpoints.ts';
import { AppError } from '../../domain/errors.ts';
import { cutPage, readCursor } from '../cursor.ts';

export const maxDeliveriesPage = 100;

export async function listDeliveries(
  em: Em,
  workspaceId: string,
  endpointId: string,
  {
    limit = maxDeliveriesPage,
    cursor,
    ...filter
  }: Partial<Omit<DeliveryFilter, 'after' | 'id'>> & { readonly cursor?: string | undefined },
): Promise<{ deliveries: DeliveryView[]; next_cursor: string | null }> {
  await findEndpoint(em, workspaceId, endpointId);
  const asked = { ...filter, after: readCursor(cursor), limit: limit + 1 };
  const rows = await selectDeliveries(em, workspaceId, endpointId, asked);
  const { page, nextCursor } = cutPage(rows, limit, (row) => ({
    createdAt: row.created_at,
    id: row.id,
  }));
  return { deliveries: page.map(present), next_cursor: nextCursor };
}

export async function loadDelivery(
  em: Em,
  workspaceId: string,
  endpointId: string,
  id: string,
): Promise<DeliveryView> {
  const [delivery] = await selectDeliveries(em, workspaceId, endpointId, { limit: 1, id });
  if (!delivery) {
    throw new AppError('not_found', `There is no delivery "${id}" of this webhook endpoint.`);
  }

  return present(delivery);
}

/** A delivery as the endpoint's owner sees it, with its newest attempts in order. Times are ISO 8601. */
function present({ next_attempt_at, created_at, ...delivery }: DeliveryRow) {
  const attempts = delivery.attempts?.toReversed() ?? [];
  const last = attempts.at(-1);
  return {
    ...delivery,
    attempts: attempts.map((attempt) =>
      Object.assign(attempt, { created_at: new Date(attempt.created_at).toISOString() }),
    ),
    attempt_count: last?.number ?? 0, // Attempts are numbered without gaps.
    response_status: last?.response_status ?? null,
    error: delivery.error ?? last?.error ?? null,
    next_attempt_at: next_attempt_at?.toISOString() ?? null,
    created_at: created_at.toISOString(),
  };
}

export type DeliveryView = ReturnType<typeof present>;
